import type { SgNode } from "@ast-grep/napi";
import { type Finder, firstOfKind, isInside, named, type Shape, textOf } from "../shape.ts";
import type { DefinitionKind } from "../source.ts";

/** Preprocessor conditions, and nodes that C++ puts around declarations. */
const passing =
  "preproc_if preproc_ifdef preproc_else preproc_elif linkage_specification declaration_list namespace_definition template_declaration".split(
    " ",
  );
const nameKinds =
  "identifier field_identifier type_identifier destructor_name operator_name operator_cast".split(" ");

interface Declared {
  name: string;
  /** The name before `::`. */
  scope: string | null;
  isFunction: boolean;
}

/** The name that a declarator declares: C writes the type around the name. */
function declared(declarator: SgNode | null): Declared | null {
  let isFunction = false;
  let scope: string | null = null;
  let node = declarator;
  for (let level = 0; node && level < 50; level++) {
    const kind = String(node.kind());
    if (nameKinds.includes(kind)) return { name: textOf(node), scope, isFunction };
    if (kind === "template_function") return { name: textOf(node.field("name")), scope, isFunction };
    if (kind === "function_declarator") isFunction = true;
    // A pointer to a function is a variable.
    else if (kind === "parenthesized_declarator") isFunction = false;
    if (kind === "qualified_identifier") {
      scope = textOf(node.field("scope")).replace(/<.*$/, "") || scope;
      node = node.field("name");
    } else node = node.field("declarator") ?? firstOfKind(node, [...nameKinds, ...declarators]);
  }
  return null;
}
const declarators =
  "pointer_declarator function_declarator array_declarator reference_declarator parenthesized_declarator qualified_identifier init_declarator".split(
    " ",
  );

const functionDefinition: Finder = (node) => {
  const found = declared(node.field("declarator"));
  if (!found) return [];
  const inClass = node.parent()?.kind() === "field_declaration_list";
  const kind = inClass || found.scope ? "method" : "function";
  return [
    { kind, name: found.name, body: node.field("body"), ...(found.scope ? { container: found.scope } : {}) },
  ];
};

const declaration: Finder = (node) => {
  const inClass = node.parent()?.kind() === "field_declaration_list";
  if (!inClass && !isInside(node, passing, ["translation_unit"])) return [];
  const isConstant = /\bconst(expr)?\b/.test(node.text().slice(0, 80));
  return node.fieldChildren("declarator").flatMap((one) => {
    const found = declared(one);
    if (!found) return [];
    const value: DefinitionKind = inClass ? "field" : isConstant ? "constant" : "variable";
    const kind = found.isFunction ? (inClass ? "method" : "function") : value;
    return [{ kind, name: found.name, body: one.field("value") }];
  });
};

const typeDefinition: Finder = (node) =>
  node.fieldChildren("declarator").flatMap((one) => {
    const found = declared(one);
    const body = node.field("type")?.field("body");
    return found ? [{ kind: "type" as const, name: found.name, body: body ?? null }] : [];
  });

/** `struct name` defines something only if its members follow. */
const withBody =
  (kind: DefinitionKind): Finder =>
  (node) =>
    node.field("body") ? named(kind)(node) : [];

export const c: Shape = {
  named: { module: "namespace_definition", type: "concept_definition" },
  definitions: {
    function_definition: functionDefinition,
    declaration,
    field_declaration: declaration,
    type_definition: typeDefinition,
    struct_specifier: withBody("class"),
    union_specifier: withBody("class"),
    class_specifier: withBody("class"),
    enum_specifier: withBody("type"),
    enumerator: named("constant", "value"),
    preproc_def: named("macro", "value"),
    preproc_function_def: named("macro", "value"),
    alias_declaration: named("type", "type"),
  },
  wrappers: ["template_declaration"],
  isExported: ({ head }) => !/\bstatic\b/.test(head),
  identifiers: ["identifier", "field_identifier", "type_identifier", "namespace_identifier"],
  slots: {
    call: "call_expression.function new_expression.type",
    member: "field_expression.field qualified_identifier.name",
    through: `
      template_function.name template_method.name parenthesized_expression.#0 pointer_declarator.declarator
      array_declarator.declarator parenthesized_declarator.* reference_declarator.#0
      function_declarator.declarator field_designator.#0`,
    definition: `
      init_declarator.declarator declaration.* field_declaration.* parameter_declaration.declarator
      function_definition.declarator type_definition.* for_range_loop.declarator preproc_def.name
      preproc_function_def.name enumerator.name alias_declaration.name`,
    specifier: "struct_specifier.name union_specifier.name class_specifier.name enum_specifier.name",
    write: "optional_parameter_declaration.declarator assignment_expression.left update_expression.argument",
    key: "initializer_pair>field_designator field_initializer.#0",
    type: "declaration.type field_declaration.type type_definition.type",
    import: "using_declaration.*",
  },
};
