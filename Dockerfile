# The project's own processes: proxies, stripe services, storage agents, health checkers, ops, and the steps that set a
# cluster up. TypeScript is run as it is: there is nothing to build.
FROM node:24-slim AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The Node.js that the project brings for other machines is left out: the base has it.
RUN npm ci --omit=dev --omit=optional --no-audit --no-fund && npm cache clean --force

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY --from=modules /app/node_modules ./node_modules
COPY . .
# Folders that volumes are mounted on take their owner from here; 999 is the mysql user of the official MySQL image,
# whose data directory an agent shares.
RUN mkdir -p /var/cache/striped-orders /var/lib/storage-agent /data && mkdir -m 1777 /app/.compiled \
  && chown node:node /var/cache/striped-orders && chown 999:999 /var/lib/storage-agent
# Nothing is built, but V8 may keep what it compiled: each entry stops at once for want of its settings,
# compiled by then; one that stops for anything else ends the build. That is a third of the processor time of a start. V8
# keeps one folder a user.
ENV NODE_COMPILE_CACHE=/app/.compiled
USER 999
RUN node storage-agent/main.ts 2>&1 | grep "AGENTS_CONFIG must name" >/dev/null
USER node
RUN for part in proxy stripe-service health-checker ops; do \
    node $part/main.ts 2>&1 | grep -E "Invalid input|must be a loopback address" >/dev/null || exit 1; done
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --start-interval=1s --retries=3 \
  CMD ["bash", "local-cluster/containers/healthy.sh"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["node"]
CMD ["proxy/main.ts"]
