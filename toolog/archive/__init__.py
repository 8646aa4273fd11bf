"""Records that lie in files, buckets and search clusters, read again: what is there, and how it is asked or
turned into other files.

- ``places``: a text of the command line becomes a list of files
- ``bucket``: files in an S3 bucket
- ``question``: what is asked; ``selection``: which of an archive's files it needs, and its answer
- ``cluster``: the same question to a search cluster; ``figures``: what is counted there
- ``outputs``, ``parquet``: files to be written
"""
