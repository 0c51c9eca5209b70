"""Reports: what was measured, for people and for machines. They read cases, and nothing that needs a device."""
