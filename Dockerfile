# The command `tripipe` with the clang that it needs, for machines without Rust:
#
#   docker build -t tripipe .
#   docker run --rm --user "$(id -u):$(id -g)" -v "$PWD:/data" tripipe check blur.cl --global 640,480
#
# scripts/check-dockerfile lints it.
FROM rust:1.89-slim-bookworm AS build
# For the commit in `tripipe --version`.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends git && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked --package tripipe-cli && strip target/dist/tripipe

FROM debian:12-slim
# Debian's stable versions: one that is named here is removed by the next update.
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends clang-15 llvm-spirv-15 && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 tripipe
COPY --from=build /source/target/dist/tripipe /usr/local/bin/tripipe
COPY LICENSE-APACHE LICENSE-MIT /usr/share/doc/tripipe/
# Any user can write there.
ENV TRIPIPE_CACHE_DIR=/tmp/tripipe
USER 1000
WORKDIR /data
ENTRYPOINT ["tripipe"]
CMD ["--help"]
