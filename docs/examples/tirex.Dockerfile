# Relucent as software for TIRA. Build the image in the root of the sources:
#   docker build -f docs/examples/tirex.Dockerfile -t relucent .
FROM debian:12 AS build
COPY packages.txt /source/
RUN apt-get update && grep -v '^#' /source/packages.txt \
    | DEBIAN_FRONTEND=noninteractive xargs apt-get install -y --no-install-recommends
COPY . /source
RUN cmake -S /source -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DRELUCENT_TESTS=OFF \
 && cmake --build /build \
 && cmake --install /build --prefix /relucent --strip \
 && /source/cmake/packages/runtime_packages.sh /relucent > /relucent-packages

FROM debian:12-slim
COPY --from=build /relucent-packages /
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive xargs -a /relucent-packages apt-get install -y --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /relucent-packages
COPY --from=build /relucent /usr/local
RUN ldconfig
# TIRA names its directories in $inputDataset and $outputDir; the command uses them if no flags are given.
CMD ["relucent", "rerank"]
