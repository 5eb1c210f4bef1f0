# Three stages: `build` compiles, `apple-simulator` is the simulated Apple, and `bramley`, the default, is Bramley.
# `make image` builds both images with buildah; `make test-image` runs them.
FROM swift:6.3-bookworm AS build
# Updates the libraries that the programs load. For storage.postgres.url, add libpq5:
# docker build --build-arg FURTHER_PACKAGES=libpq5
ARG FURTHER_PACKAGES=
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libc6 libgcc-s1 libnghttp2-dev libsqlite3-dev libssl-dev \
       libstdc++6 $FURTHER_PACKAGES \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# The commit that `--version` shows, and the time of every file:
# docker build --build-arg SOURCE_COMMIT=$(git rev-parse HEAD) --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
ARG SOURCE_COMMIT=
ARG SOURCE_DATE_EPOCH=0
ENV SOURCE_COMMIT=$SOURCE_COMMIT SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH
# Swift's libraries are linked statically, so the other stages need none of them. The cache is for the next build and in no
# image.
RUN --mount=type=cache,target=/source/.build \
    swift build -c release --static-swift-stdlib --product bramley \
    && swift build -c release --static-swift-stdlib --product apple-simulator \
    && mkdir /programs \
    && for program in bramley apple-simulator; do \
        scripts/strip.sh "$(swift build -c release --static-swift-stdlib --show-bin-path)/$program" "/programs/$program" \
        || exit 1; done \
    && scripts/image-root.sh /images/apple-simulator /programs/apple-simulator apple /var/lib/apple-simulator \
    && scripts/image-root.sh /images/bramley /programs/bramley bramley /var/lib/bramley $FURTHER_PACKAGES

FROM scratch AS apple-simulator
COPY --from=build /images/apple-simulator /
ENV PATH=/usr/local/bin
# A number, because an engine that refuses root cannot check a name.
USER 10001
# It writes the relying party's key to data/.
WORKDIR /var/lib/apple-simulator
EXPOSE 9700
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["apple-simulator", "--port=9700", "--alive"]
ENTRYPOINT ["apple-simulator"]
# A simulated Apple lets anybody sign in as anybody: publish the port on your own machine only.
CMD ["--host=0.0.0.0", "--port=9700"]

FROM scratch AS bramley
COPY --from=build /images/bramley /
ENV PATH=/usr/local/bin
# A number, because an engine that refuses root cannot check a name.
USER 10001
# Holds config.json, the .p8 and data/ (a volume, owned by 10001).
WORKDIR /var/lib/bramley
# Listens on all addresses of the container. Publish 8080 through a proxy with TLS. The admin listener stays on the
# container's 127.0.0.1.
ENV BRAMLEY_SERVER_HOST=0.0.0.0
EXPOSE 8080
VOLUME ["/var/lib/bramley/data"]
# SIGTERM drains; see server.drainTimeout.
STOPSIGNAL SIGTERM
# Asks every event loop; /readyz says more.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["bramley", "doctor", "--alive"]
ENTRYPOINT ["bramley"]
CMD ["serve"]
