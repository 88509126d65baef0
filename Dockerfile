# The image of docker-compose.yml: control worker, command line, and the example's agent host. Agents of yours need an image of
# their own, made the same way, with this package among its dependencies.
FROM node:20.20.2-bookworm-slim AS build
# SQLite's driver is compiled where no prebuilt file can be fetched, against the headers that the image has.
RUN apt-get update && apt-get install -y --no-install-recommends g++ make python3 && rm -rf /var/lib/apt/lists/*
ENV npm_config_nodedir=/usr/local
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts && npm rebuild better-sqlite3
COPY . .
RUN npm run build
# Temporal's packages and the optional telemetry and S3 are peers: they stay, in the locked versions, once nothing lists them for
# development too.
RUN npm pkg delete devDependencies peerDependenciesMeta && npm prune --ignore-scripts

FROM node:20.20.2-bookworm-slim
# Temporal's client trusts the system's authorities, of which the slim image has none.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/examples ./examples
USER node
ENTRYPOINT ["node", "/app/dist/src/cli/main.js"]
CMD ["--help"]
