"""Records that lie in files and buckets, read again: which files there are, what is in them, and how they are
asked or turned into other files.

- ``places``: a text of the command line becomes a list of files
- ``bucket``: files in an S3 bucket
- ``selection``: which of an archive's files a question needs, and its answer
- ``outputs``, ``parquet``: files to be written
"""
