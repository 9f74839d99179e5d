import type { SgNode } from "@ast-grep/napi";
import {
  type Finder,
  type FoundDefinition,
  firstField,
  isInside,
  named,
  type Shape,
  stringText,
  textOf,
} from "../shape.ts";

const functionKinds = ["arrow_function", "function_expression", "generator_function"];
const passing = ["lexical_declaration", "variable_declaration", "export_statement", "ambient_declaration"];
const scopes = ["program", "internal_module", "module"];

/** Calls of a wrapper return the wrapped function: `memo(() => …)`, `promisify(function () {…})`. */
function functionIn(value: SgNode | null): SgNode | null {
  if (!value) return null;
  const kind = String(value.kind());
  if (functionKinds.includes(kind)) return value;
  if (kind !== "call_expression") return null;
  const last = value.field("arguments")?.namedChildren().slice(0, 3) ?? [];
  return last.find((one) => functionKinds.includes(String(one.kind()))) ?? null;
}

const variable: Finder = (node, isLocal) => {
  const value = node.field("value");
  const kind = String(value?.kind() ?? "");
  if (isLocal && kind !== "class" && !functionKinds.includes(kind)) return [];
  const name = node.field("name");
  if (name?.kind() !== "identifier") return [];
  const run = functionIn(value);
  if (run && (value?.id() === run.id() || isTop(node)))
    return [{ kind: "function", name: name.text(), body: run.field("body") }];
  if (kind === "class") return [{ kind: "class", name: name.text(), body: value?.field("body") ?? null }];
  if (!isTop(node)) return [];
  const isConstant = node.parent()?.field("kind")?.text() === "const";
  return [{ kind: isConstant ? "constant" : "variable", name: name.text(), body: value }];
};

const isTop = (node: SgNode) => isInside(node, passing, scopes) || isInNamespace(node);

function isInNamespace(node: SgNode): boolean {
  const block = node.parent()?.parent();
  const inner = block?.kind() === "export_statement" ? block.parent() : block;
  return inner?.kind() === "statement_block" && inner.parent()?.kind() === "internal_module";
}

const classField: Finder = (node) => {
  const name = textOf(firstField(node, ["name", "property"]));
  const value = node.field("value");
  const run = functionIn(value);
  if (!name) return [];
  return [run ? { kind: "method", name, body: run.field("body") } : { kind: "field", name, body: value }];
};

const objectProperty: Finder = (node) => {
  const value = node.field("value");
  const key = node.field("key");
  if (!value || !key) return [];
  if (!functionKinds.includes(String(value.kind())))
    return isExportedKey(node) ? [{ kind: "constant", name: textOf(key), body: value }] : [];
  return [
    { kind: "method", name: stringText(key) ?? textOf(key), body: value.field("body"), ...holder(node) },
  ];
};

/** `module.exports = { name: … }` */
function isExportedKey(node: SgNode): boolean {
  const around = node.parent()?.parent();
  return around?.kind() === "assignment_expression" && around.field("left")?.text() === "module.exports";
}

/** The variable whose value is the object. */
function holder(node: SgNode): { container?: string } {
  const around = node.parent()?.parent();
  const name = around?.kind() === "variable_declarator" ? textOf(around.field("name")) : "";
  return name ? { container: name } : {};
}

const method: Finder = (node) => {
  const found = named("method")(node);
  return node.parent()?.kind() === "object" ? found.map((one) => ({ ...one, ...holder(node) })) : found;
};

/** `exports.name = function`, `Type.prototype.name = () => …`. */
const assigned: Finder = (node) => {
  const [left, right] = [node.field("left"), node.field("right")];
  if (left?.kind() !== "member_expression" || !right) return [];
  const kind = functionKinds.includes(String(right.kind())) ? "function" : "class";
  if (kind === "class" && right.kind() !== "class") return [];
  // The value of the module is not a member: it has its own name.
  if (left.text() === "module.exports")
    return [{ kind, name: textOf(right.field("name")) || "exports", body: right.field("body") }];
  const name = textOf(left.field("property"));
  const owner = textOf(left.field("object")).replace(/\.prototype$/, "");
  const found: FoundDefinition = { kind, name, body: right.field("body") };
  return [
    /^(module\.)?exports$/.test(owner)
      ? found
      : { ...found, kind: kind === "class" ? kind : "method", container: owner },
  ];
};

const defaultExport: Finder = (node) => {
  const value = node.field("value");
  const kind = String(value?.kind() ?? "");
  if (!value || !(functionKinds.includes(kind) || kind === "class")) return [];
  return [
    {
      kind: kind === "class" ? "class" : "function",
      name: textOf(value.field("name")) || "default",
      body: value.field("body"),
    },
  ];
};

const testCase: Finder = (node) => {
  const [title, ...rest] = node.field("arguments")?.namedChildren().slice(0, 4) ?? [];
  const run = rest.find((one) => functionKinds.includes(String(one.kind())));
  const text = title && ["string", "template_string"].includes(String(title.kind())) ? textOf(title) : "";
  return run && text ? [{ kind: "test", name: text.slice(1, -1), body: run.field("body") }] : [];
};

export const javascript: Shape = {
  named: {
    function: "function_declaration generator_function_declaration function_signature",
    class: "class_declaration abstract_class_declaration",
    interface: "interface_declaration",
    type: "enum_declaration",
    module: "internal_module module",
    method: "method_signature abstract_method_signature",
  },
  definitions: {
    type_alias_declaration: named("type", "value"),
    method_definition: method,
    property_signature: named("field", "type"),
    public_field_definition: classField,
    field_definition: classField,
    variable_declarator: variable,
    pair: objectProperty,
    assignment_expression: assigned,
    export_statement: defaultExport,
    call_expression: testCase,
  },
  heads: { call_expression: "^(describe|it|test|suite|context|specify|bench)\\b" },
  wrappers: ["export_statement", "ambient_declaration"],
  groups: ["lexical_declaration", "variable_declaration", "expression_statement"],
  attributes: ["decorator"],
  isExported: ({ name, head, inClass, inInterface, listed }) => {
    if (inClass || inInterface) return !name.startsWith("#") && !/\b(private|protected)\b/.test(head);
    return /^\s*(@[\s\S]*)?export\b/.test(head) || /\bexports\b|^\s*module\.$/.test(head) || listed.has(name);
  },
  exportList: (text) => {
    const lists = text.matchAll(
      /\bexport(?: type)?\s*\{([^}]{0,5000})\}|\bmodule\.exports\s*=\s*(?:\{([^}]{0,5000})\}|(\w+))/g,
    );
    const names = [...lists].flatMap(
      ([, list, object, one]) => (list ?? object ?? one ?? "").match(/[\w$]+/g) ?? [],
    );
    const defaults = [...text.matchAll(/\bexport\s+default\s+([\w$]+)/g)].map((match) => match[1] ?? "");
    return new Set([...names, ...defaults]);
  },
  baseCall: "super",
  identifiers: [
    "identifier",
    "property_identifier",
    "private_property_identifier",
    "shorthand_property_identifier",
    "shorthand_property_identifier_pattern",
    "type_identifier",
  ],
  slots: {
    call: `
      call_expression.function new_expression.constructor decorator.#0 jsx_opening_element.name
      jsx_self_closing_element.name`,
    member: "member_expression.property nested_identifier.property",
    through: `
      non_null_expression.#0 parenthesized_expression.#0 instantiation_expression.#0 pair_pattern.value
      object_pattern.* array_pattern.*`,
    definition: `
      variable_declarator.name function_expression.name class.name type_alias_declaration.name
      method_definition.name property_signature.name public_field_definition.name field_definition.property
      enum_body>property_identifier enum_assignment.name type_parameter.name formal_parameters>identifier
      arrow_function.parameter rest_pattern.#0 catch_clause.parameter for_in_statement.left`,
    parameter: "required_parameter.pattern optional_parameter.pattern",
    write: `
      assignment_pattern.left object_assignment_pattern.left assignment_expression.left
      augmented_assignment_expression.left update_expression.argument`,
    key: "pair.key jsx_attribute>property_identifier",
    shorthand: "object>shorthand_property_identifier",
    read: "object_pattern>shorthand_property_identifier_pattern pair_pattern.key export_specifier.name",
    type: "extends_clause.value nested_type_identifier.name type_query.#0",
    import: "import_specifier.* import_clause.* namespace_import.* import_require_clause.*",
  },
};
