# Three images: `build` holds Swift and what it made, `apple-simulator` the simulated Apple, and the last, which is what a
# build without --target gives, Bramley. `make image` builds both with buildah, and tests sign in through them.
FROM swift:6.3-bookworm AS build
# Those that the programs load are brought up to date; libpq5 for storage.postgres.url:
# docker build --build-arg FURTHER_PACKAGES=libpq5
ARG FURTHER_PACKAGES=
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libc6 libgcc-s1 libnghttp2-dev libsqlite3-dev libssl-dev \
       libstdc++6 $FURTHER_PACKAGES \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
# What `--version` says it was built from, and the time of every file:
# docker build --build-arg SOURCE_COMMIT=$(git rev-parse HEAD) --build-arg SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
ARG SOURCE_COMMIT=
ARG SOURCE_DATE_EPOCH=0
ENV SOURCE_COMMIT=$SOURCE_COMMIT SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH
# Swift's own libraries go into the programs, so that the other images need none of them. What was compiled is kept for the
# next build, outside of every image.
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
# The number: an engine that refuses root cannot judge a name.
USER 10001
# The key that it makes for the relying party: data/.
WORKDIR /var/lib/apple-simulator
EXPOSE 9700
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["apple-simulator", "--port=9700", "--alive"]
ENTRYPOINT ["apple-simulator"]
# A simulated Apple lets anybody sign in as anybody: publish the port on your own machine alone.
CMD ["--host=0.0.0.0", "--port=9700"]

FROM scratch AS bramley
COPY --from=build /images/bramley /
ENV PATH=/usr/local/bin
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
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["bramley", "doctor", "--alive"]
ENTRYPOINT ["bramley"]
CMD ["serve"]
