import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { BlobFacts } from "./facts.ts";
import { prefix, SEQ_BITS } from "./schema.ts";
import { wordsOf } from "./words.ts";

/** Numbers of blobs that only this connection knows begin here, so that none is the number of one in the file. */
const FIRST_OWN = 2 ** 31;

/** Writes facts of blobs, in the file or for this connection alone. */
export class FactStore {
  readonly #blob: StatementSync;
  readonly #definition: StatementSync;
  readonly #reference: StatementSync;
  readonly #import: StatementSync;
  readonly #words: StatementSync;
  readonly #find: StatementSync;
  readonly #last: StatementSync;
  readonly #first: number;
  #next = 0;

  constructor(database: DatabaseSync, schema: "main" | "temp") {
    const table = (name: string) => `${schema}.${prefix(schema)}${name}`;
    const into = (name: string, columns: number) =>
      database.prepare(`INSERT INTO ${table(name)} VALUES (${Array(columns).fill("?").join(",")})`);
    this.#blob = into("blob", 5);
    this.#definition = into("definition", 14);
    this.#reference = into("reference", 8);
    this.#import = into("import", 8);
    this.#words = database.prepare(`INSERT INTO ${table("words")} (rowid, name, text) VALUES (?, ?, ?)`);
    this.#find = database.prepare(`SELECT id FROM ${table("blob")} WHERE oid = ? AND kind = ?`);
    this.#last = database.prepare(`SELECT max(id) AS last FROM ${table("blob")}`);
    this.#first = schema === "temp" ? FIRST_OWN : 1;
  }

  /** To be called when a transaction has begun: another connection may have added blobs meanwhile. */
  begin(): void {
    const last = this.#last.get()?.last;
    this.#next = last === null || last === undefined ? this.#first : Number(last) + 1;
  }

  /** Answers the blob's number. Null facts are kept as well: it need not be read again. */
  add(oid: string, kind: string, facts: BlobFacts | null): number {
    const known = this.#find.get(oid, kind)?.id;
    if (known !== undefined) return Number(known);
    const blob = this.#next++;
    this.#blob.run(blob, oid, kind, facts?.lines ?? 0, facts?.package ?? null);
    if (!facts) return blob;
    for (const [seq, one] of facts.definitions.entries()) {
      this.#definition.run(
        ...[blob, seq, one.name, one.kind, one.container, one.start, one.end, one.signatureEnd, one.docStart],
        ...[Number(one.exported), one.outer, one.type, one.supers, one.excerpt],
      );
      this.#words.run(blob * 2 ** SEQ_BITS + seq, wordsOf(nameWords(one)), one.text);
    }
    for (const [seq, one] of facts.references.entries())
      this.#reference.run(blob, seq, one.name, one.line, one.role, one.via, one.hint, one.within);
    for (const [seq, one] of facts.imports.entries())
      this.#import.run(
        blob,
        seq,
        one.specifier,
        one.imported,
        one.local,
        one.line,
        Number(one.again),
        stemOf(one.specifier),
      );
    return blob;
  }
}

const nameWords = ({ name, container }: { name: string; container: string | null }) =>
  container === null ? name : `${container} ${name}`;

/** The last word of what an import names, without an extension: that of the file or folder that is meant. */
export const stemOf = (specifier: string): string => {
  const [last = "", before = ""] = specifier
    .split(/::|[/\\]/)
    .filter(Boolean)
    .toReversed();
  const bare = last.replace(/\.(?:d\.)?(?:[cm]?[jt]sx?|py|h|hpp|rb|php)$/, "");
  return /^(?:index|__init__)$/.test(bare) ? before : (bare.split(".").filter(Boolean).at(-1) ?? "");
};
