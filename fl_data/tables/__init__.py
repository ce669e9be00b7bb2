"""Tables (CSV, Parquet, Hugging Face) as data sets: reading, encoding, and the encoding's file."""

from fl_data.tables.building import encode, survey
from fl_data.tables.encoding import Encoding
from fl_data.tables.reading import read

__all__ = ["Encoding", "encode", "read", "survey"]
