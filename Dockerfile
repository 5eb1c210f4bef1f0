# Three images: `build` holds Swift and what it made, `apple-simulator` the simulated Apple, and the last, which is what a
# build without --target gives, Bramley. `make image` builds both with buildah, and tests sign in through them.
# The Debian releases of all must be the same, for the libraries. The `-files` stages are what is in an image: as a layer of
# its own, what is removed from Debian takes no room.
FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libssl-dev libsqlite3-dev libnghttp2-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# What `--version` says it was built from: docker build --build-arg SOURCE_COMMIT=$(git rev-parse HEAD)
ARG SOURCE_COMMIT=
ENV SOURCE_COMMIT=$SOURCE_COMMIT
# Swift's own libraries go into the programs, so that the other images need none of them. What was compiled is kept for the
# next build, outside of every image.
RUN --mount=type=cache,target=/source/.build \
    swift build -c release --static-swift-stdlib --product bramley \
    && swift build -c release --static-swift-stdlib --product apple-simulator \
    && mkdir /programs \
    && for program in bramley apple-simulator; do \
        scripts/strip.sh "$(swift build -c release --static-swift-stdlib --show-bin-path)/$program" "/programs/$program" \
        || exit 1; done

FROM debian:bookworm-slim AS apple-simulator-files
# openssl: the demonstration makes its key with it. Nothing reads other character sets or time zones.
RUN apt-get update \
    && apt-get install -y --no-install-recommends libnghttp2-14 libssl3 openssl \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/lib/*/gconv /usr/share/zoneinfo \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin apple
COPY --from=build /programs/apple-simulator /usr/local/bin/

FROM scratch AS apple-simulator
COPY --from=apple-simulator-files / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# The number: an engine that refuses root cannot judge a name.
USER 10001
EXPOSE 9700
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/9700 && printf 'GET /auth/keys HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && head -n 1 <&3 | grep -q ' 200 '"]
ENTRYPOINT ["apple-simulator"]
# A simulated Apple lets anybody sign in as anybody: publish the port on your own machine alone.
CMD ["--host=0.0.0.0", "--port=9700"]

FROM debian:bookworm-slim AS bramley-files
# libpq5 for storage.postgres.url: docker build --build-arg FURTHER_PACKAGES=libpq5
ARG FURTHER_PACKAGES=
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libnghttp2-14 libsqlite3-0 libssl3 \
       $FURTHER_PACKAGES \
    && rm -rf /var/lib/apt/lists/* /var/cache/* /var/log/* /usr/lib/*/gconv /usr/share/zoneinfo \
    && useradd --system --uid 10001 --home-dir /var/lib/bramley --create-home --shell /usr/sbin/nologin bramley \
    && install -d -o bramley -g bramley -m 700 /var/lib/bramley/data
COPY --from=build /programs/bramley /usr/local/bin/

FROM scratch AS bramley
COPY --from=bramley-files / /
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
# The number: an engine that refuses root cannot judge a name.
USER 10001
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
