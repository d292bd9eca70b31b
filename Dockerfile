# syntax=docker/dockerfile:1
# docker build -t ckai .
# docker run --rm -it --hostname localhost -p 8000:8000 -v ckai:/home/ckai ckai    # the board; prints its address
# docker run --rm -it -v ckai:/home/ckai ckai ckai play
FROM python:3.12-slim
RUN --mount=type=bind,target=/src,rw pip install --no-cache-dir -c /src/constraints.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu "/src[openvino,web]"
RUN useradd --create-home ckai
USER ckai
WORKDIR /home/ckai
EXPOSE 8000
CMD ["ckai", "board", "--host", "0.0.0.0", "--port", "8000", "--no-browser"]
