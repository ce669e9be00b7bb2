"""Tables (CSV, Parquet, Hugging Face) as data sets: reading, encoding, and the encoding's file."""

from fl_data.tables.as_dataset import encode, survey
from fl_data.tables.encoding import Encoding
from fl_data.tables.table_files import read

__all__ = ["Encoding", "encode", "read", "survey"]
