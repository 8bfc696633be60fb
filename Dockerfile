# One image for all of the workbench's services: what each does is its command (compose.yaml).
#
# Python packages come from requirements/postgres.txt, pinned by hash; `--build-arg SET=swebench` takes another set.

ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS canvas
WORKDIR /app
ENV PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/ requirements/
RUN python -m venv .venv \
 && .venv/bin/pip install --quiet --no-deps --require-hashes -r requirements/node.txt
COPY package.json package-lock.json .npmrc ./
COPY frontend/ frontend/
RUN frontend/build.sh

FROM python:${PYTHON}-slim AS build
ARG SET=postgres
WORKDIR /app
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
COPY requirements/ requirements/
RUN python -m venv /venv \
 && /venv/bin/pip install --quiet --no-deps --require-hashes -r requirements/bootstrap.txt \
 && /venv/bin/uv pip sync --python /venv/bin/python --require-hashes \
      requirements/bootstrap.txt requirements/build.txt "requirements/${SET}.txt"
COPY pyproject.toml README.md manage.py ./
COPY workbench/ workbench/
COPY --from=canvas /app/workbench/topologies/static/ workbench/topologies/static/
COPY evaluators/ evaluators/
COPY agents_catalog/ agents_catalog/
COPY topologies/ topologies/
RUN /venv/bin/uv pip install --python /venv/bin/python --no-deps --no-build-isolation --offline -e .

FROM python:${PYTHON}-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends git tini \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 10001 workbench \
 && install -d -o workbench -g workbench /home/workbench/data
COPY --from=build /venv /venv
COPY --from=build /app /app
WORKDIR /app
USER workbench
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 WORKBENCH_HOME=/home/workbench/data DJANGO_SETTINGS_MODULE=workbench.settings
VOLUME /home/workbench/data
EXPOSE 8000
ENTRYPOINT ["tini", "--"]
CMD ["workbench", "up", "--host", "0.0.0.0"]
