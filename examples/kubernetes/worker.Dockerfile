# The program and the command; built in the root of the repository. A real program brings its own base image.
FROM python:3.12-slim
COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt '/src[cli]'
COPY examples/program/train.sh /train.sh
USER 10001
