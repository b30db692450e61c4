"""Files of earlier versions, and how they were written."""
