import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection that can send any bytes. */
export class RawSocket {
  readonly socket: Socket;
  /** Everything received so far, as Latin-1. */
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
    // The server may reset the connection.
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

  /** Resolves when the bytes are sent or the connection is gone. */
  async send(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  /** The status codes received, in order. */
  statuses(): number[] {
    return [...this.answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
  }

  /** Resolves when `count` answers have begun or the connection is closed. */
  async answered(count = 1): Promise<number[]> {
    while (this.statuses().length < count && !this.socket.closed) await this.#news();
    return this.statuses();
  }

  /** Resolves to everything received when the server has closed the connection. */
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

/** Sends the bytes over a new connection; resolves to the first status, or 0 if it closes without one. */
export async function firstStatus(port: number, bytes: string | Buffer): Promise<number> {
  const raw = await RawSocket.open(port);
  await raw.send(bytes);
  const [status = 0] = await raw.answered();
  raw.end();
  return status;
}
