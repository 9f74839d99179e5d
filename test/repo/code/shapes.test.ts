import { describe, expect, it } from "vitest";
import { grammarsOf, type Language, loadAstGrep } from "../../../src/repo/code/languages.ts";
import { findersOf } from "../../../src/repo/code/shape.ts";
import { shapes } from "../../../src/repo/code/shapes/all-shapes.ts";

const astGrep = await loadAstGrep();
const languages = Object.keys(shapes) as Language[];

describe("the tables of a language", () => {
  it.each(languages)("The tables of a language only name kinds that its grammars have: %s", (language) => {
    const shape = shapes[language];
    const users = languages.filter((one) => shapes[one] === shape);
    const dialects = users.flatMap((one) => grammarsOf(one)).map((grammar) => grammar.dialect);
    const places = Object.values(shape.slots).flatMap((positions) => positions.trim().split(/\s+/));
    const slots = places.flatMap((place) => (place.includes(">") ? place.split(">") : place.split(".")[0]!));
    const kinds = [
      ...findersOf(shape).keys(),
      ...Object.keys(shape.heads ?? {}),
      ...[shape.wrappers, shape.groups, shape.attributes, shape.identifiers, slots].flatMap(
        (one) => one ?? [],
      ),
    ];
    const unknown = kinds.filter((kind) => dialects.every((dialect) => !astGrep.kind(dialect, kind)));
    expect(unknown).toEqual([]);
  });
});
