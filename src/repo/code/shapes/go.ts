import type { SgNode } from "@ast-grep/napi";
import { type Finder, type FoundDefinition, isInside, named, type Shape, textOf } from "../shape.ts";
import type { DefinitionKind } from "../source.ts";

const each =
  (kind: DefinitionKind) =>
  (node: SgNode): readonly FoundDefinition[] =>
    node
      .fieldChildren("name")
      .filter((name) => name.isNamed())
      .map((name) => ({ kind, name: name.text(), body: node.field("value") }));

const onTop =
  (kind: DefinitionKind): Finder =>
  (node, isLocal) =>
    !isLocal && isInside(node, ["var_spec_list", "var_declaration", "const_declaration"], ["source_file"])
      ? each(kind)(node)
      : [];

/** In characters; the time for matching grows with the cube of the length. */
const longestReceiver = 200;

const method: Finder = (node) => {
  const receiver = textOf(node.field("receiver")).slice(-longestReceiver);
  const container = /([\p{L}_][\p{L}\p{N}_]*)\s*(\[[^\]]*\])?\s*,?\s*\)$/u.exec(receiver)?.[1];
  return named("method")(node).map((one) => (container ? { ...one, container } : one));
};

const typeSpec: Finder = (node) => {
  const type = node.field("type");
  const kind =
    type?.kind() === "struct_type" ? "class" : type?.kind() === "interface_type" ? "interface" : "type";
  const body = type?.children().find((one) => ["field_declaration_list", "{"].includes(String(one.kind())));
  return [{ kind, name: textOf(node.field("name")), body: body ?? type }];
};

const shortVariable: Finder = (node) => {
  const [left, right] = [only(node.field("left")), only(node.field("right"))];
  if (left?.kind() !== "identifier" || right?.kind() !== "func_literal") return [];
  return [{ kind: "function", name: left.text(), body: right.field("body") }];
};

function only(list: SgNode | null): SgNode | null {
  const [first, second] = list?.namedChildren().slice(0, 2) ?? [];
  return first && !second ? first : null;
}

export const go: Shape = {
  named: { function: "function_declaration", method: "method_elem" },
  definitions: {
    method_declaration: method,
    type_spec: typeSpec,
    type_alias: typeSpec,
    const_spec: onTop("constant"),
    var_spec: onTop("variable"),
    field_declaration: each("field"),
    short_var_declaration: shortVariable,
  },
  groups: ["type_declaration", "const_declaration", "var_declaration"],
  isExported: ({ name }) => /^\p{Lu}/u.test(name),
  identifiers: ["identifier", "field_identifier", "type_identifier", "package_identifier"],
  slots: {
    // A conversion `name[Type](value)` may be the call of a generic function.
    call: "call_expression.function type_conversion_expression.type",
    member: "selector_expression.field",
    through: `
      generic_type.type qualified_type.name parenthesized_expression.#0 expression_list.* literal_element.#0`,
    definition: `
      method_declaration.name type_spec.name type_alias.name const_spec>identifier var_spec>identifier
      field_declaration>field_identifier parameter_declaration>identifier
      variadic_parameter_declaration>identifier type_parameter_declaration>identifier
      short_var_declaration.left range_clause.left type_switch_statement.alias`,
    write: "assignment_statement.left inc_statement.#0 dec_statement.#0",
    key: "keyed_element.key",
    import: "import_spec.name package_clause.*",
  },
};
