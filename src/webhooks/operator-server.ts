import type { Logger } from "../logger.ts";
import { type Health, refuseWriting } from "./health.ts";
import { type Handler, listen, type RunningServer } from "./http.ts";

export interface OperatorServerOptions {
  /** Null: all addresses. */
  host: string | null;
  /** 0: any free one. */
  port: number;
  health: Health;
  /** Everything that is counted, in Prometheus' text format. */
  exposition(): Promise<{ text: string; contentType: string }>;
  log: Logger;
}

/** In milliseconds: whoever reads figures reads them again. */
const closeGraceMs = 1_000;

/**
 * Serves `/metrics`, `/healthz` and `/readyz` to whoever operates this, on a port of its own: a worker has no other, and what
 * the metrics tell is nobody else's business.
 * @throws AppError `config_invalid` when the port cannot be had.
 */
export async function startOperatorServer(options: OperatorServerOptions): Promise<RunningServer> {
  const { host, port, health, exposition, log } = options;
  const handler: Handler = async (request, { pathname }) => {
    const answer = await health.answer(request, pathname);
    if (answer) return answer;
    if (pathname !== "/metrics")
      return { status: 404, body: "Not found. There is /metrics, /healthz and /readyz." };
    refuseWriting(request.method);
    const { text, contentType } = await exposition();
    return { status: 200, body: text, headers: { "content-type": contentType } };
  };
  const server = await listen(handler, {
    ...{ host, port, log, variable: "HUNKWISE_METRICS_PORT" },
    closeGraceMs,
  });
  log.info({ metricsPort: server.port }, `Metrics and health on port ${server.port}`);
  return server;
}
