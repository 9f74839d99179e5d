import { describe, expect, it } from "vitest";
import { grammarsOf, type Language, loadAstGrep } from "../../../src/repo/code/languages.ts";
import { shapes } from "../../../src/repo/code/shapes/all-shapes.ts";

const astGrep = await loadAstGrep();
const languages = Object.keys(shapes) as Language[];

describe("the tables of a language", () => {
  it.each(languages)("The tables of a language only name kinds that its grammars have: %s", (language) => {
    const shape = shapes[language];
    const users = languages.filter((one) => shapes[one] === shape);
    const dialects = users.flatMap((one) => grammarsOf(one)).map((grammar) => grammar.dialect);
    const slots = Object.keys(shape.slots).flatMap((key) =>
      key.includes(">") ? key.split(">") : key.split(".")[0]!,
    );
    const kinds = [
      ...Object.keys(shape.named),
      ...Object.keys(shape.definitions),
      ...Object.keys(shape.heads ?? {}),
      ...[...shape.wrappers, ...shape.groups, ...shape.attributes, ...shape.identifiers, ...slots],
    ];
    const unknown = kinds.filter((kind) => dialects.every((dialect) => !astGrep.kind(dialect, kind)));
    expect(unknown).toEqual([]);
  });
});
