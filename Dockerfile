# Two stages: Swift builds, and a small Debian runs. The Debian releases of both must be the same, for the libraries.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libssl-dev libsqlite3-dev libnghttp2-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
# The dependencies alone first: they change less often than the sources.
COPY Package.swift ./
RUN swift package resolve
COPY . .
# What `--version` says it was built from: docker build --build-arg SOURCE_COMMIT=$(git rev-parse HEAD)
ARG SOURCE_COMMIT=
ENV SOURCE_COMMIT=$SOURCE_COMMIT
# Swift's own libraries go into the programs, so that the second stage needs none of them.
RUN swift build -c release --static-swift-stdlib --product bramley \
    && swift build -c release --static-swift-stdlib --product apple-simulator \
    && mkdir /programs \
    && cp "$(swift build -c release --static-swift-stdlib --show-bin-path)/bramley" \
          "$(swift build -c release --static-swift-stdlib --show-bin-path)/apple-simulator" /programs/ \
    && strip /programs/*

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libnghttp2-14 libsqlite3-0 libssl3 openssl tzdata \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/bramley --create-home --shell /usr/sbin/nologin bramley
COPY --from=build /programs/ /usr/local/bin/
USER bramley
# config.json, the .p8 and data/ (a volume, owned by 10001) are looked for here.
WORKDIR /var/lib/bramley
# A container's network is its own: inside it, all addresses are the ones it was given. Publish 8080 through a proxy with
# TLS. The operator's listener stays on 127.0.0.1 inside the container.
ENV BRAMLEY_SERVER_HOST=0.0.0.0
EXPOSE 8080
VOLUME ["/var/lib/bramley/data"]
# SIGTERM drains; see server.drainTimeout.
STOPSIGNAL SIGTERM
# An answer from every event loop; /readyz says more.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9090 && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["bramley"]
CMD ["serve"]
