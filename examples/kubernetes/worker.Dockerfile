# The program and the command. A real program brings its own base image.
FROM python:3.12-slim
RUN pip install --no-cache-dir 'adabkb-service[cli]'
COPY train.sh /train.sh
USER 10001
