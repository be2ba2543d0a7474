# Filled by the installation rules.
