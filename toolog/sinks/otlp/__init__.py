"""Records for a collector of OpenTelemetry, over OTLP: calls as spans, everything else as log records.

    record  --spans.py-->  Span      \\
            --events.py--> LogRecord  }--resources.py-->  one request for each signal  --wire.py-->  collector

The names are those of the gen-ai conventions (`fields.py`), and what these do not know is kept under
``toolog.``: nothing of a record is left out. OTLP knows no identity of what is sent: a record that is sent
twice after a crash has the same trace and span ids, and whether it stands there twice is up to the backend.
"""

from toolog.sinks.otlp.sink import OtlpSink

__all__ = ["OtlpSink"]
