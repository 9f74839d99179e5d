import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { AppError, errorLine } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";

export interface Answer {
  status: number;
  /** Text of `type`; or bytes, whose type is among the headers. */
  body: string | Uint8Array;
  type?: "text/plain" | "text/html" | "application/json";
  headers?: Record<string, string | readonly string[]>;
}

/** An answer that ends the handling of a request. */
export class Refusal extends Error {
  readonly answer: Answer;

  constructor(status: number, body: string, headers: Record<string, string> = {}) {
    super(body);
    this.answer = { status, body, headers };
  }
}

export type Handler = (request: IncomingMessage, url: URL) => Promise<Answer>;

/** Time limits for a client; a slow one holds a connection, never the server. */
export interface Timeouts {
  headersMs: number;
  requestMs: number;
}

interface Address {
  host: string | null;
  port: number;
  /** The variable that sets the port. */
  variable?: "PORT" | "HUNKWISE_METRICS_PORT";
}

interface ListenOptions extends Address {
  log: Logger;
  timeouts?: Timeouts | undefined;
  mostConnections?: number;
  /** Time for running requests to end after the server is closed. Default 5 s. */
  closeGraceMs?: number;
}

export interface RunningServer {
  port: number;
  /** Accepts no new request, and resolves when the running ones are answered, or cut off because they took too long. */
  close(): Promise<void>;
}

const patientTimeouts: Timeouts = { headersMs: 10_000, requestMs: 30_000 };
/** GitHub waits ten seconds for an answer, and its next try reaches the restarted server. */
const longestCloseMs = 5_000;
/**
 * Limits for unauthenticated clients, because the signature is checked last. GitHub sends a dozen headers of some hundred bytes, a proxy adds as
 * many, and GitHub sends one request on a connection at a time.
 */
const most = { headerBytes: 16_384, connections: 1_000, requestsAConnection: 1_000, requestsAhead: 16 };

/** Serves `handler`. @throws AppError `config_invalid` if the address is not available. */
export async function listen(handler: Handler, options: ListenOptions): Promise<RunningServer> {
  const { headersMs, requestMs } = options.timeouts ?? patientTimeouts;
  const server = createServer(
    {
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: Math.min(1_000, headersMs / 2),
      keepAliveTimeout: 5_000,
      maxHeaderSize: most.headerBytes,
    },
    (request, response) => {
      // Node parses all requests in a piece of 64 KiB, thousands of them, and goes on after the connection has ended.
      if (!request.socket.destroyed) void respond(handler, request, response, options.log);
    },
  );
  makeRoom(server, options.mostConnections ?? most.connections);
  server.maxRequestsPerSocket = most.requestsAConnection;
  const port = await bind(server, options);
  server.on("error", (error) => options.log.error({ err: error }, "The web server failed"));
  return { port, close: () => shut(server, options.closeGraceMs ?? longestCloseMs) };
}

/**
 * If there are too many connections, ends the one that has waited longest for a whole request: a genuine client sends it at once, and
 * one that sends slowly, or reads no answer, blocks nobody. All may come from one address, that of a proxy. A connection with a request that is
 * being answered is never ended, so if all are, a new one is refused. One that sends many requests ahead is ended: each takes a hundred times
 * as much memory as it has bytes.
 */
function makeRoom(server: Server, connections: number): void {
  /** Open connections with their unsent responses, in the order in which they began to wait. */
  const open = new Map<Socket, Set<ServerResponse>>();
  const put = (socket: Socket, pending: Set<ServerResponse>) => {
    open.delete(socket);
    if (!socket.destroyed) open.set(socket, pending);
  };
  const isAnswering = (pending: Set<ServerResponse>) =>
    [...pending].some((response) => response.req.complete && !response.writableEnded);
  const end = (socket: Socket) => {
    open.delete(socket);
    socket.destroy();
  };
  server.on("connection", (socket) => {
    put(socket, new Set());
    socket.once("close", () => open.delete(socket));
    if (open.size <= connections) return;
    const [slowest = socket] = [...open].find(([, pending]) => !isAnswering(pending)) ?? [];
    end(slowest);
  });
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    const pending = open.get(socket);
    if (!pending) return;
    pending.add(response);
    put(socket, pending);
    response.once("close", () => {
      pending.delete(response);
      if (open.has(socket)) put(socket, pending);
    });
    if (pending.size > most.requestsAhead) end(socket);
  });
}

async function respond(
  handler: Handler,
  request: IncomingMessage,
  response: ServerResponse,
  log: Logger,
): Promise<void> {
  const answer = await answerOf(handler, request, log);
  const { status, body, type = "text/plain", headers = {} } = answer;
  const content = typeof body === "string" ? Buffer.from(type === "text/plain" ? `${body}\n` : body) : body;
  response.writeHead(status, {
    "content-type": `${type}; charset=utf-8`,
    "content-length": content.length,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    ...headers,
  });
  response.end(request.method === "HEAD" ? undefined : content);
}

async function answerOf(handler: Handler, request: IncomingMessage, log: Logger): Promise<Answer> {
  try {
    // Only path and query are used; the client chooses the host.
    const url = URL.parse(request.url ?? "/", "http://localhost");
    if (!url) return { status: 400, body: "The URL is invalid." };
    return await handler(request, url);
  } catch (error) {
    if (error instanceof Refusal) return error.answer;
    log.error({ err: error }, `A request failed: ${errorLine(error)}`);
    return { status: 503, body: "Temporarily unavailable.", headers: { "retry-after": "60" } };
  }
}

/** Rejects with `config_invalid` if the address is not available now. */
export async function requireFree(address: Address): Promise<void> {
  const server = createServer();
  await bind(server, address);
  await once(server.close(), "close");
}

async function bind(server: Server, { host, port, variable }: Address): Promise<number> {
  try {
    await once(server.listen({ port, ...(host && { host }) }), "listening");
  } catch (error) {
    throw unusable(error, host, port, variable ?? "PORT");
  }
  return (server.address() as AddressInfo).port;
}

const unusable = (cause: unknown, host: string | null, port: number, variable: string) =>
  new AppError(
    "config_invalid",
    `Cannot listen on ${host ?? "all addresses"}, port ${port}: ${errorLine(cause)}`,
    {
      remedy: `Stop the program that uses this port, or set ${variable} to a port, and ${variable.replace("PORT", "HOST")} to an address, that this user may use.`,
      cause,
    },
  );

async function shut(server: Server, graceMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), graceMs);
  await once(server.close(), "close");
  clearTimeout(timer);
}
