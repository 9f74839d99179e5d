import type { GoFile, GoNamed, GoPackage } from "./go-declarations.ts";
import type { Syntax } from "./lezer-tree.ts";

/** What an expression is. `basic` has no method of ours; `outside` is a type of another module; of `unknown` nothing is known. */
export type GoType =
  | { is: "named"; named: GoNamed; given: Names }
  | { is: "literal"; node: Syntax; file: GoFile; given: Names }
  | { is: "list" | "channel" | "pointer"; of: GoType }
  | { is: "map"; key: GoType; of: GoType }
  | { is: "function"; results: () => readonly GoType[] }
  | { is: "package"; package: GoPackage }
  | { is: "outside package" | "outside"; name: string }
  | { is: "type"; type: GoType }
  | { is: "basic" | "unknown" };

/** Names of a function's inside, and of type parameters. */
export class Names {
  readonly #own = new Map<string, () => GoType>();
  readonly #around: Names | null;

  constructor(around: Names | null = null) {
    this.#around = around;
  }

  set(name: string, find: () => GoType): void {
    let known: GoType | undefined;
    let isOpen = false;
    this.#own.set(name, () => {
      if (isOpen) return unknown;
      isOpen = true;
      known ??= find();
      isOpen = false;
      return known;
    });
  }

  get(name: string): GoType | null {
    return this.#own.get(name)?.() ?? this.#around?.get(name) ?? null;
  }
}

export const unknown: GoType = { is: "unknown" };
export const basic: GoType = { is: "basic" };
export const none = new Names();

export const basics = /^(u?int(8|16|32|64)?|uintptr|float(32|64)|complex(64|128)|string|bool|byte|rune)$/;
/** Interfaces of Go's own packages, which a type of ours may implement. */
const interfaces =
  /^(error|any|comparable)$|^(io|fs|hash|encoding|sort|heap|driver|ast|fmt|context)\.|^http\.(Handler|ResponseWriter|RoundTripper|Flusher|Hijacker|FileSystem|File|CookieJar|Pusher)$|^net\.(Conn|Listener|PacketConn|Addr|Error)$|^(flag\.Value|reflect\.Type|sync\.Locker|slog\.Handler|json\.(Un)?[Mm]arshaler|crypto\.\w+|tls\.ClientSessionCache|template\.\w+|zapcore\.\w+)$/;

/** Whether objects of a type of another module may be ours. */
export const mayBeOurs = (path: string): boolean =>
  /^[^/]*\./.test(path) || interfaces.test(path.replace(/^.*\//, ""));
