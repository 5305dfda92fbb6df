# Two stages: wheels are built in the first, the second carries only what runs.
FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
WORKDIR /src
RUN python -m venv /opt/adabkb
COPY pyproject.toml hatch_build.py constraints.txt mkdocs.yml README.md LICENSE ./
COPY service service
COPY client client
COPY integrations integrations
COPY migrations migrations
COPY docs docs
COPY site site
COPY deploy deploy
COPY examples examples
COPY benchmarks/quality/data/README.md benchmarks/quality/data/README.md
COPY benchmarks/results benchmarks/results
RUN /opt/adabkb/bin/python -m pip install --no-cache-dir -c constraints.txt '.[oidc,server]'

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
RUN useradd --system --uid 10001 --home-dir /data --create-home adabkb
COPY --from=build /opt/adabkb /opt/adabkb
ENV PATH=/opt/adabkb/bin:$PATH \
    ADABKB_HOST=0.0.0.0 \
    ADABKB_PORT=8000 \
    ADABKB_DATABASE=sqlite:////data/adabkb.db
# A volume that is mounted on a folder of the image belongs to the folder's owner.
RUN install -d -o adabkb /backups
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
ENTRYPOINT ["adabkb"]
CMD ["serve"]
