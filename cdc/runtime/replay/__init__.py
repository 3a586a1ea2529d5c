"""Records in quarantine, applied once their cause is gone."""
