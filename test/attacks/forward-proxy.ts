import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

/** The only way out for programs behind it: names that only this proxy resolves lead to ports of this machine. */
export interface ForwardProxy extends AsyncDisposable {
  url: string;
  /** Each requested host with its port, once per request. */
  asked: string[];
  /** Sets the routes for later and for waiting requests. */
  route(ports: Readonly<Record<string, number>>): void;
}

export async function startForwardProxy(): Promise<ForwardProxy> {
  const asked: string[] = [];
  const routes = Promise.withResolvers<Readonly<Record<string, number>>>();
  const sockets = new Set<Socket>();

  async function portOf(host: string): Promise<number | undefined> {
    asked.push(host);
    return (await routes.promise)[host];
  }

  async function forward(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? "");
    const port = await portOf(`${url.hostname}:${url.port || 80}`);
    if (port === undefined) return void outgoing.writeHead(502).end("No such host");
    const { method, headers } = incoming;
    const upstream = request({
      host: "127.0.0.1",
      port,
      path: url.pathname + url.search,
      method,
      headers,
      agent: false,
    });
    upstream.on("error", () => outgoing.destroy());
    upstream.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    incoming.pipe(upstream);
  }

  async function tunnel(incoming: IncomingMessage, client: Socket): Promise<void> {
    const port = await portOf(incoming.url ?? "");
    if (port === undefined) return void client.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
    const upstream = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
  }

  const server = createServer((incoming, outgoing) => void forward(incoming, outgoing));
  server.on("connect", (incoming, client) => void tunnel(incoming, client as Socket));
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  const started = await listening(server);
  return {
    url: `http://127.0.0.1:${started.port}`,
    asked,
    route: routes.resolve,
    async [Symbol.asyncDispose]() {
      // The HTTP server does not track tunnels as its connections.
      for (const socket of sockets) socket.destroy();
      await started[Symbol.asyncDispose]();
    },
  };
}

/** A local server that nothing should contact: it records every connection. */
export async function startTrap(): Promise<{ port: number; visits: string[] } & AsyncDisposable> {
  const visits: string[] = [];
  const server = createServer((incoming, answer) => {
    visits.push(`${incoming.method} ${incoming.url}`);
    answer.end("caught");
  });
  server.on("connection", () => visits.push("a connection"));
  return { ...(await listening(server)), visits };
}

/** A server that redirects every request. */
export async function startRedirector(
  status: number,
  location: string,
): Promise<{ url: string } & AsyncDisposable> {
  const started = await listening(createServer((_, answer) => answer.writeHead(status, { location }).end()));
  return { ...started, url: `http://127.0.0.1:${started.port}` };
}

async function listening(server: Server): Promise<{ port: number } & AsyncDisposable> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
