#!/bin/sh
# The database of the servers and its owner, who is no superuser. PostgreSQL's image runs this in a new, empty volume.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$ADABKB_PASSWORD" --username postgres --dbname postgres <<'SQL'
CREATE ROLE adabkb LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
CREATE DATABASE adabkb OWNER adabkb;
REVOKE CONNECT, TEMPORARY ON DATABASE adabkb FROM PUBLIC;
SQL
