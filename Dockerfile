# docker build -t divulge . && docker run --rm -v "$PWD:/data" divulge check release.csv --policy divulge.toml
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY requirements.lock /wheels/
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir --constraint /wheels/requirements.lock /wheels/*.whl \
    && rm -r /wheels \
    && useradd --create-home --uid 1000 divulge
# Tables are read, and releases written, by somebody who may do nothing else.
USER 1000
WORKDIR /data
ENTRYPOINT ["divulge"]
CMD ["--help"]
