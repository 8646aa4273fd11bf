"""Records in S3, or in anything that speaks its protocol: one object for the records of one policy and one
segment of the spool, under a key that says so.

- ``names``: the keys, written and read
- ``options``: what a user may set about the bucket, checked at once
- ``clients``: a boto3 client from these options
- ``faults``: what an error means: try again, with fresh credentials, or somebody must put something right
- ``objects``: the bytes of one object; ``maps``: what must be known of records for that, without decoding
them; ``beside``: compression meanwhile
- ``bounds``: which records are one object, also after a crash
- ``sink``: the sink
"""
