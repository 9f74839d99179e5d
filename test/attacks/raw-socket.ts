import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection that sends whatever bytes a test likes. */
export class RawSocket {
  readonly socket: Socket;
  /** All that came back so far, as Latin-1. */
  answer = "";
  readonly #closed: Promise<void>;
  readonly #watchers = new Set<() => void>();

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (chunk) => {
      this.answer += chunk.toString("latin1");
      for (const look of this.#watchers) look();
    });
    // A server that has enough resets the connection.
    socket.on("error", () => {});
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#closed = promise;
    socket.on("close", () => {
      resolve();
      for (const look of this.#watchers) look();
    });
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect(port, "127.0.0.1");
    const raw = new RawSocket(socket);
    await once(socket, "connect");
    return raw;
  }

  /** Resolves when the bytes are on their way, or the connection is gone. */
  async send(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** The status codes that came back, in this order. */
  statuses(): number[] {
    return [...this.answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** Resolves once so many answers have begun, or the connection is closed. */
  async answered(count = 1): Promise<number[]> {
    while (this.statuses().length < count && !this.socket.closed) await this.#news();
    return this.statuses();
  }

  /** Resolves to all that came back when the server has closed the connection. */
  async closed(): Promise<string> {
    await this.#closed;
    return this.answer;
  }

  end(): void {
    this.socket.destroy();
  }

  #news(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#watchers.add(resolve);
    return promise.finally(() => this.#watchers.delete(resolve));
  }
}

/** Sends the bytes over a connection of their own; resolves to the first status, 0 where it is closed without one. */
export async function firstStatus(port: number, bytes: string | Buffer): Promise<number> {
  const raw = await RawSocket.open(port);
  await raw.send(bytes);
  const [status = 0] = await raw.answered();
  raw.end();
  return status;
}
