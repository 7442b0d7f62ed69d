"""SWE-bench Verified as an environment: repair a real repository with bash, in a sandbox."""
