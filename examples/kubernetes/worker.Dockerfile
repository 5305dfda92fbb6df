# The program and the command adabkb. The build context is the root of the repository. Use the base image of your program.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt '/src[cli]'
COPY examples/program/train.sh /train.sh
USER 10001
