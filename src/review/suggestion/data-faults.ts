import { type DataError, dataFormatOf, readData } from "../../analyzers/data-formats.ts";
import { extensionOf } from "../../syntax/grammars.ts";

/** What a parser says of a data file: the first place where it gives up, or null. */
export interface DataReading {
  error: Pick<DataError, "line" | "message"> | null;
  /** Whether it is JSON without comments and trailing commas. */
  isPlainJson?: boolean;
}

export const isData = (path: string) => dataFormatOf(path) !== null || extensionOf(path) === "toml";

/** Null where there is no telling: very large and very deep files. */
export async function readDataFile(path: string, text: string): Promise<DataReading | null> {
  const format = dataFormatOf(path);
  if (format === null) return readToml(text);
  const reading = await readData(format, path, text);
  if (reading === null || reading.error !== null || format !== "JSON") return reading;
  return { error: await repeatedKey(text), isPlainJson: isPlainJson(text) };
}

async function readToml(text: string): Promise<DataReading> {
  const toml = await import("smol-toml");
  try {
    toml.parse(text, { maxDepth: 100 });
    return { error: null };
  } catch (error) {
    if (!(error instanceof toml.TomlError)) throw error;
    return { error: { line: error.line, message: "the TOML parser stops" } };
  }
}

function isPlainJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Parsers of JSON take the last of two keys and say nothing. */
async function repeatedKey(text: string): Promise<DataReading["error"]> {
  const { default: jsonc } = await import("jsonc-parser");
  const objects: Set<string>[] = [];
  let found: DataReading["error"] = null;
  jsonc.visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty: (name, _offset, _length, line) => {
      const keys = objects.at(-1);
      if (keys?.has(name)) found ??= { line: line + 1, message: "a key stands twice in the same object" };
      keys?.add(name);
    },
  });
  return found;
}
