import type { SgNode } from "../../../repo/code/languages.ts";

/** A test's code in the few forms that the rules know, the same for all languages, without types and comments. */
export type Code = Form & {
  line: number;
  text: string;
  parent: Code | null;
  children: readonly Code[];
};

export type Of<Is extends Code["is"]> = Extract<Code, { is: Is }>;

export type Form =
  | { is: "name"; name: string }
  | { is: "member"; object: Code; name: string }
  | { is: "index"; object: Code; key: Code }
  | { is: "call"; callee: Code; args: readonly Code[]; isNew: boolean }
  | { is: "function"; name: string | null; params: readonly Code[]; decorators: readonly Code[] }
  | { is: "class"; name: string | null }
  /** Gives names, or members, a value; `null` if the value is unknown. */
  | { is: "bind"; targets: readonly Code[]; value: Code | null; how: Binding }
  /** The conditions say whether, or how often, the rest of it runs. */
  | { is: "branch"; conditions: readonly Code[]; how: "if" | "loop" | "and" | "or" | "choice" }
  | { is: "try"; body: Code; handlers: readonly Code[] }
  | { is: "end"; how: "return" | "throw" }
  | { is: "assert" }
  /** The value of a text that is written as it is; `null` if it has parts. */
  | { is: "text"; value: string | null }
  | { is: "pair"; name: string | null; value: Code }
  | { is: "import"; specifier: string | null; names: readonly ImportedName[]; isCalled: boolean }
  | { is: "block" }
  /** Names that a function of Python takes from around it. */
  | { is: "outer"; names: readonly string[] }
  /** Expressions of which only the last one is the value. */
  | { is: "last" }
  /** `typeof`, `void`, `delete`: the value says nothing of what the operand is. */
  | { is: "operator"; operator: string }
  | { is: "other"; kind: string };

/** `assign` of a name that no place declares declares it in Python. */
type Binding = "declare" | "parameter" | "assign" | "update" | "iterate";

interface ImportedName {
  local: string;
  /** `*` for the module as a whole. */
  name: string;
}

type Made = Form & { children: readonly Code[] };
type Read = (node: SgNode, of: Reader) => Made | null;

/** What the readers of nodes share. */
interface Reader {
  (node: SgNode): Code | null;
  all(nodes: readonly SgNode[]): Code[];
  /** The code of a field; an empty one if there is none. */
  field(node: SgNode, name: string): Code;
}

export interface Syntax {
  kinds: Readonly<Record<string, Read | "skip">>;
  /** The forms that have names of their own. */
  scopes: ReadonlySet<Form["is"]>;
}

function placed(made: Made, node: SgNode): Code {
  const code: Code = { ...made, line: node.range().start.line + 1, text: node.text(), parent: null };
  for (const child of code.children) child.parent = code;
  return code;
}

/** Reads a syntax tree. Each node is read once, so the time is linear. */
export function readCode(root: SgNode, { kinds }: Syntax): Code {
  const read = (node: SgNode): Code | null => {
    const kind = String(node.kind());
    const known = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (known === "skip" || kind === "comment") return null;
    const made: Made | null = known
      ? known(node, reader)
      : { is: "other", kind, children: reader.all(node.namedChildren()) };
    return made && placed(made, node);
  };
  const reader: Reader = Object.assign(read, {
    all: (nodes: readonly SgNode[]) => nodes.filter((one) => one.isNamed()).flatMap((one) => read(one) ?? []),
    field: (node: SgNode, name: string): Code => {
      const child = node.field(name);
      return (child && read(child)) ?? placed(other("nothing", []), node);
    },
  });
  return read(root) ?? placed(other("nothing", []), root);
}

const other = (kind: string, children: readonly Code[]): Made => ({ is: "other", kind, children });
const pairOf = (named: string | null, value: Code, keys: readonly Code[] = []): Made => ({
  ...{ is: "pair", name: named, value },
  children: [...keys, value],
});
const bindOf = (targets: readonly Code[], value: Code | null, how: Binding): Made => ({
  ...{ is: "bind", targets, value, how },
  children: value ? [...targets, value] : targets,
});
const importOf = (specifier: string | null, names: readonly ImportedName[], isCalled = false): Made => ({
  ...{ is: "import", specifier, names, isCalled },
  children: [],
});
const nameAt = (node: SgNode, named: string): Code => placed({ is: "name", name: named, children: [] }, node);

const name: Read = (node) => ({ is: "name", name: node.text(), children: [] });

const member =
  (object: string, field: string): Read =>
  (node, of) => {
    const inner = of.field(node, object);
    return { is: "member", object: inner, name: textOf(node.field(field)), children: [inner] };
  };

/** An item of a list, whose key may be written as a text: then it is a member with that name. */
const index =
  (object: string, field: string): Read =>
  (node, of) => {
    const inner = of.field(node, object);
    const key = of.field(node, field);
    return { is: "index", object: inner, key, children: [inner, key] };
  };

const bind =
  (target: string, value: string, how: Binding): Read =>
  (node, of) =>
    bindOf(of.all(node.fieldChildren(target)), node.field(value) && of.field(node, value), how);

/** A part that runs, or is a value, as others say. */
const branch =
  (how: (Form & { is: "branch" })["how"], ...fields: string[]): Read =>
  (node, of) => {
    const asked = new Set(fields.flatMap((field) => node.fieldChildren(field)).map((one) => one.id()));
    const children: Code[] = [];
    const conditions: Code[] = [];
    for (const child of node.namedChildren()) {
      const code = of(child);
      if (!code) continue;
      children.push(code);
      if (asked.has(child.id())) conditions.push(code);
    }
    return { is: "branch", how, conditions, children };
  };

const parts =
  (form: Form): Read =>
  (node, of) => ({ ...form, children: of.all(node.namedChildren()) });

/** The code of the only named child. */
const through: Read = (node, of) => {
  const [inner] = of.all(node.namedChildren().slice(0, 1));
  return inner ?? null;
};

const aFunction =
  (...fields: string[]): Read =>
  (node, of) => {
    const named = node.field("name");
    const params = fields
      .flatMap((field) => node.fieldChildren(field))
      .filter((one) => one.isNamed())
      .flatMap((one) => (/parameter/.test(String(one.kind())) ? one.namedChildren() : [one]));
    const read = params.flatMap((one) => {
      const param = of(one);
      return param && param.is !== "bind" ? placed(bindOf([param], null, "parameter"), one) : (param ?? []);
    });
    const around = node.parent();
    const decorators =
      around?.kind() === "decorated_definition"
        ? of.all(around.namedChildren().filter((one) => one.kind() === "decorator"))
        : [];
    const body = node.field("body");
    return {
      is: "function",
      name: named && textOf(named),
      params: read,
      decorators,
      children: [
        ...read,
        ...of.all([...(named?.kind() === "computed_property_name" ? [named] : []), ...(body ? [body] : [])]),
      ],
    };
  };

/** A function that a name of its own does not stand for. */
const method: Read = (node, of) => {
  const made = aFunction("receiver", "parameters")(node, of);
  if (made?.is !== "function") return made;
  return pairOf(made.name && unquoted(made.name), placed({ ...made, name: null }, node));
};

const aClass: Read = (node, of) => ({
  is: "class",
  name: textOf(node.field("name")) || null,
  children: of.all(node.namedChildren().filter((one) => one.id() !== node.field("name")?.id())),
});

const call =
  (callee: string, isNew: boolean): Read =>
  (node, of) => {
    const called = of.field(node, callee);
    const list = node.field("arguments");
    const isList = list && /^(?:arguments|argument_list)$/.test(String(list.kind()));
    const args = of.all(isList ? list.namedChildren() : list ? [list] : []);
    return { is: "call", callee: called, args, isNew, children: [called, ...args] };
  };

const pair =
  (key: string): Read =>
  (node, of) => {
    const named = node.field(key);
    const value = of.field(node, "value");
    if (named && named.kind() !== "computed_property_name") return pairOf(unquoted(named.text()), value);
    return pairOf(null, value, of.all(named ? [named] : []));
  };

const textOf = (node: SgNode | null) => node?.text() ?? "";
const unquoted = (text: string) => /^(["'])(.*)\1$/s.exec(text)?.[2] ?? text;

const escapes = /\\(?:x([0-9a-f]{2})|u\{([0-9a-f]{1,6})\}|u([0-9a-f]{4})|([\s\S]))/gi;
/** A text without its quotes, its escapes read as far as they can hide a name. */
const unescaped = (text: string): string =>
  text.replace(escapes, (whole, x: string, brace: string, u: string, other: string) => {
    const code = x ?? brace ?? u;
    if (code === undefined) return other === "n" ? "\n" : other === "\n" ? "" : other;
    const point = Number.parseInt(code, 16);
    return point <= 0x10_ff_ff ? String.fromCodePoint(point) : whole;
  });

/** A text in quotes; with parts, its value is unknown. */
const quoted =
  (open: RegExp, close: RegExp): Read =>
  (node, of) => {
    const children = of
      .all(node.namedChildren())
      .filter(({ children: inner, ...one }) => one.is !== "other" || inner.length > 0);
    const written = node.text().replace(open, "").replace(close, "");
    return { is: "text", value: children.length > 0 ? null : unescaped(written), children };
  };

const end = (how: "return" | "throw"): Read => parts({ is: "end", how });

const javascriptText = quoted(/^["'`]/, /["'`]$/);

function importClause(node: SgNode): ImportedName[] {
  return node.namedChildren().flatMap((clause): ImportedName[] => {
    switch (String(clause.kind())) {
      case "identifier":
        return [{ local: clause.text(), name: "default" }];
      case "namespace_import":
        return clause.namedChildren().map((one) => ({ local: one.text(), name: "*" }));
      case "named_imports":
        return clause.namedChildren().flatMap((one) => {
          if (/^type\s/.test(one.text())) return [];
          const imported = unquoted(textOf(one.field("name")));
          return [{ local: textOf(one.field("alias")) || imported, name: imported }];
        });
      default:
        return [];
    }
  });
}

const javascriptImport: Read = (node) => {
  if (/^import\s+type\s/.test(node.text())) return null;
  const clause = node.namedChildren().find((one) => one.kind() === "import_clause");
  const required = node.namedChildren().find((one) => one.kind() === "import_require_clause");
  const source = (required ?? node).field("source") ?? required?.namedChildren().at(-1) ?? null;
  const names = required
    ? required
        .namedChildren()
        .slice(0, 1)
        .map((one) => ({ local: one.text(), name: "*" }))
    : clause
      ? importClause(clause)
      : [];
  return importOf(unescaped(unquoted(textOf(source))), names);
};

const javascriptCall: Read = (node, of) => {
  const made = call("function", false)(node, of);
  if (made?.is !== "call") return made;
  const { callee, args } = made;
  const isImport = callee.text === "import";
  if (!isImport && !(callee.is === "name" && callee.name === "require")) return made;
  const [first] = args;
  const specifier = first?.is === "text" && args.length === 1 ? first.value : null;
  return { is: "import", specifier, names: [], isCalled: true, children: args };
};

/** `const { a } = require("b")` imports as `import { a } from "b"` does. */
const declarator: Read = (node, of) => {
  const made = bind("name", "value", "declare")(node, of);
  if (made?.is !== "bind") return made;
  const [target] = made.targets;
  const awaited =
    made.value?.is === "other" && made.value.kind === "await_expression"
      ? made.value.children[0]
      : made.value;
  if (awaited?.is !== "import" || !target) return made;
  const names: ImportedName[] =
    target.is === "name"
      ? [{ local: target.name, name: "*" }]
      : target.children.map((one) =>
          one.is === "pair" && one.value.is === "name" && one.name !== null
            ? { local: one.value.name, name: one.name }
            : { local: "", name: "" },
        );
  if (names.some(({ local }) => local === "")) return made;
  return importOf(awaited.specifier, names, true);
};

const operatorOf = (node: SgNode) => textOf(node.field("operator"));

const javascriptBinary: Read = (node, of) => {
  const operator = operatorOf(node);
  if (operator === "&&") return branch("and", "left")(node, of);
  if (operator === "||" || operator === "??") return branch("or", "left")(node, of);
  if (operator === "in") return parts({ is: "operator", operator })(node, of);
  return parts({ is: "other", kind: `binary ${operator}` })(node, of);
};

const javascriptUnary: Read = (node, of) => {
  const operator = operatorOf(node);
  const isMute = ["typeof", "void", "delete"].includes(operator);
  return parts(isMute ? { is: "operator", operator } : { is: "other", kind: `unary ${operator}` })(node, of);
};

const forIn: Read = (node, of) => {
  const right = of.field(node, "right");
  const made = bindOf([of.field(node, "left")], right, node.field("kind") ? "iterate" : "assign");
  const value = placed(made, node);
  const isIn = operatorOf(node) === "in";
  const head = isIn ? placed({ is: "operator", operator: "for in", children: [value] }, node) : value;
  return { is: "branch", how: "loop", conditions: [right], children: [head, of.field(node, "body")] };
};

const aTry =
  (...handlers: string[]): Read =>
  (node, of) => {
    const body = of.field(node, "body");
    const others = of.all(node.namedChildren().filter((one) => one.id() !== node.field("body")?.id()));
    const caught = others.filter(
      (one) => one.is === "block" && handlers.some((kind) => one.text.startsWith(kind)),
    );
    return { is: "try", body, handlers: caught, children: [body, ...others] };
  };

const jsxName = (node: SgNode, of: Reader): Made => {
  const named = node.field("name");
  const isTag = named?.kind() === "identifier" && /^[a-z]/.test(named.text());
  const inner = node.namedChildren().filter((one) => !(isTag && one.id() === named.id()));
  return other(String(node.kind()), of.all(inner));
};

const each = (kinds: string, read: Read | "skip"): Syntax["kinds"] =>
  Object.fromEntries(kinds.split(" ").map((kind) => [kind, read]));

const javascriptKinds: Syntax["kinds"] = {
  ...each(
    "type_annotation type_arguments type_parameters interface_declaration type_alias_declaration " +
      "accessibility_modifier override_modifier optional_chain hash_bang_line jsx_closing_element asserts_annotation " +
      "type_predicate_annotation property_identifier private_property_identifier string_fragment escape_sequence " +
      "regex_pattern regex_flags jsx_text statement_identifier predefined_type import_attribute",
    "skip",
  ),
  ...each("identifier this super meta_property shorthand_property_identifier", name),
  undefined: parts({ is: "other", kind: "undefined" }),
  shorthand_property_identifier_pattern: (node) => pairOf(node.text(), nameAt(node, node.text())),
  member_expression: member("object", "property"),
  subscript_expression: index("object", "index"),
  call_expression: javascriptCall,
  new_expression: call("constructor", true),
  ...each(
    "function_declaration function_expression generator_function generator_function_declaration",
    aFunction("parameters"),
  ),
  arrow_function: aFunction("parameters", "parameter"),
  method_definition: method,
  ...each("required_parameter optional_parameter", bind("pattern", "value", "parameter")),
  ...each("assignment_pattern object_assignment_pattern", bind("left", "right", "parameter")),
  ...each("pair_pattern pair", pair("key")),
  ...each("class_declaration abstract_class_declaration class", aClass),
  enum_declaration: bind("name", "body", "declare"),
  ...each("enum_assignment public_field_definition", pair("name")),
  field_definition: pair("property"),
  variable_declarator: declarator,
  assignment_expression: bind("left", "right", "assign"),
  augmented_assignment_expression: bind("left", "right", "update"),
  update_expression: bind("argument", "nothing", "update"),
  for_in_statement: forIn,
  if_statement: branch("if", "condition"),
  ...each("while_statement do_statement for_statement", branch("loop", "condition")),
  switch_statement: branch("if", "value"),
  ternary_expression: branch("choice", "condition"),
  binary_expression: javascriptBinary,
  unary_expression: javascriptUnary,
  sequence_expression: parts({ is: "last" }),
  ...each("parenthesized_expression as_expression satisfies_expression non_null_expression", through),
  type_assertion: (node, of) => {
    const inner = node.namedChildren().at(-1);
    return inner ? of(inner) : null;
  },
  ...each("statement_block switch_body", parts({ is: "block" })),
  catch_clause: (node, of) => {
    const caught = node.field("parameter");
    const bound = caught ? [placed(bindOf(of.all([caught]), null, "parameter"), node)] : [];
    return { is: "block", children: [...bound, of.field(node, "body")] };
  },
  try_statement: aTry("catch"),
  throw_statement: end("throw"),
  return_statement: end("return"),
  ...each("string template_string", javascriptText),
  import_statement: javascriptImport,
  ...each("jsx_opening_element jsx_self_closing_element", jsxName),
};

const dotted = (node: SgNode | null) => textOf(node).replace(/\s/g, "");

const pythonImport: Read = (node) => {
  const made = node.namedChildren().map((one) => {
    const specifier = dotted(one.field("name") ?? one);
    return importOf(specifier, [{ local: dotted(one.field("alias")) || specifier, name: "*" }]);
  });
  // More than one module in a statement: each is a statement.
  return made.length === 1 && made[0]
    ? made[0]
    : other(
        "imports",
        made.map((one) => placed(one, node)),
      );
};

const pythonFrom: Read = (node) => {
  const specifier = dotted(node.field("module_name"));
  const isAll = node.namedChildren().some((one) => one.kind() === "wildcard_import");
  const names = node.fieldChildren("name").map((one) => {
    const imported = dotted(one.field("name") ?? one);
    return { local: dotted(one.field("alias")) || imported, name: imported };
  });
  return importOf(isAll ? null : specifier, names);
};

const asPattern: Read = (node, of) => {
  const [value, target] = of.all(node.namedChildren());
  return bindOf(target ? [target] : [], value ?? null, "assign");
};

const pythonFor: Read = (node, of) => {
  const [left, right] = [of.field(node, "left"), of.field(node, "right")];
  const value = placed(bindOf([left], right, "iterate"), node);
  const rest = of.all(node.fieldChildren("body").concat(node.fieldChildren("alternative")));
  return { is: "branch", how: "loop", conditions: [right], children: [value, ...rest] };
};

const pythonBoolean: Read = (node, of) => branch(operatorOf(node) === "and" ? "and" : "or", "left")(node, of);

const conditional: Read = (node, of) => {
  const children = of.all(node.namedChildren());
  return { is: "branch", how: "choice", conditions: children.slice(1, 2), children };
};

/** `*args: T`, `name: T`: the name is the first child. */
const typedParameter: Read = (node, of) =>
  bindOf(of.all(node.namedChildren().slice(0, 1)), null, "parameter");

const pythonText = quoted(/^[a-z]*("""|'''|"|')/i, /("""|'''|"|')$/);

const pythonKinds: Syntax["kinds"] = {
  ...each(
    "type string_start string_end string_content escape_sequence type_conversion format_specifier positional_separator keyword_separator future_import_statement type_alias_statement",
    "skip",
  ),
  format_specifier: parts({ is: "other", kind: "format" }),
  identifier: name,
  attribute: member("object", "attribute"),
  subscript: index("value", "subscript"),
  call: call("function", false),
  keyword_argument: pair("name"),
  ...each("function_definition lambda", aFunction("parameters")),
  typed_parameter: typedParameter,
  ...each("default_parameter typed_default_parameter", bind("name", "value", "parameter")),
  class_definition: aClass,
  assignment: bind("left", "right", "assign"),
  augmented_assignment: bind("left", "right", "update"),
  named_expression: bind("name", "value", "assign"),
  as_pattern: asPattern,
  for_statement: pythonFor,
  for_in_clause: bind("left", "right", "iterate"),
  ...each("if_statement elif_clause", branch("if", "condition")),
  while_statement: branch("loop", "condition"),
  match_statement: branch("if", "subject"),
  case_pattern: (node, of) => bindOf(of.all(node.namedChildren()), null, "assign"),
  conditional_expression: conditional,
  boolean_operator: pythonBoolean,
  binary_operator: (node, of) => parts({ is: "other", kind: `binary ${operatorOf(node)}` })(node, of),
  parenthesized_expression: through,
  ...each("block except_clause except_group_clause", parts({ is: "block" })),
  finally_clause: parts({ is: "other", kind: "finally" }),
  try_statement: aTry("except"),
  raise_statement: end("throw"),
  return_statement: end("return"),
  assert_statement: parts({ is: "assert" }),
  string: pythonText,
  concatenated_string: (node, of) => {
    const children = of.all(node.namedChildren());
    const values = children.map((one) => (one.is === "text" ? one.value : null));
    return { is: "text", value: values.includes(null) ? null : values.join(""), children };
  },
  import_statement: pythonImport,
  import_from_statement: pythonFrom,
  ...each("global_statement nonlocal_statement", (node) => ({
    is: "outer",
    names: node.namedChildren().map((one) => one.text()),
    children: [],
  })),
  delete_statement: parts({ is: "operator", operator: "delete" }),
  exec_statement: (node, of) => ({ is: "name", name: "exec", children: of.all(node.namedChildren()) }),
  print_statement: (node, of) => ({ is: "name", name: "print", children: of.all(node.namedChildren()) }),
};

const goParameter: Read = (node, of) => {
  const type = node.field("type");
  const names = of.all(node.fieldChildren("name"));
  // The type says which parameter is the test itself.
  const value = type && /\btesting\.(?:T|B|F|TB)$/.test(type.text()) ? nameAt(type, "testing.T") : null;
  return bindOf(names, value, "parameter");
};

const goUpdate: Read = (node, of) => bindOf(of.all(node.namedChildren()), null, "update");

const goImport: Read = (node) => {
  const specifier = textOf(node.field("path")).replace(/^["`]|["`]$/g, "");
  const last = /([^/]+?)(?:\/v\d+|\.v\d+)?$/.exec(specifier)?.[1]?.replace(/^go-|-go$/g, "") ?? specifier;
  const alias = textOf(node.field("name"));
  const isHidden = alias === "." || alias === "_";
  return importOf(isHidden ? null : specifier, [{ local: alias || last, name: "*" }]);
};

const goKinds: Syntax["kinds"] = {
  ...each(
    "package_clause field_identifier label_name interpreted_string_literal_content raw_string_literal_content escape_sequence " +
      "pointer_type slice_type map_type array_type channel_type function_type struct_type interface_type generic_type " +
      "type_arguments type_parameter_list parenthesized_type",
    "skip",
  ),
  ...each("identifier type_identifier package_identifier", name),
  qualified_type: (node) => {
    const object = nameAt(node, textOf(node.field("package")));
    return { is: "member", object, name: textOf(node.field("name")), children: [object] };
  },
  selector_expression: member("operand", "field"),
  index_expression: index("operand", "index"),
  call_expression: call("function", false),
  ...each("function_declaration func_literal", aFunction("parameters")),
  method_declaration: method,
  ...each("parameter_declaration variadic_parameter_declaration", goParameter),
  short_var_declaration: bind("left", "right", "declare"),
  assignment_statement: (node, of) =>
    bind("left", "right", operatorOf(node) === "=" ? "assign" : "update")(node, of),
  ...each("inc_statement dec_statement", goUpdate),
  ...each("var_spec const_spec", bind("name", "value", "declare")),
  type_declaration: (node, of) => ({
    is: "other",
    kind: "types",
    children: node
      .namedChildren()
      .flatMap((one) => one.field("name") ?? [])
      .map((one) => placed(bindOf(of.all([one]), null, "declare"), one)),
  }),
  range_clause: (node, of) => {
    const left = node.field("left") ? [of.field(node, "left")] : [];
    return bindOf(left, of.field(node, "right"), /:=/.test(node.text()) ? "declare" : "assign");
  },
  for_statement: (node, of) => {
    const children = of.all(node.namedChildren());
    return { is: "branch", how: "loop", conditions: children.slice(0, -1), children };
  },
  if_statement: branch("if", "condition"),
  expression_switch_statement: branch("if", "value"),
  type_switch_statement: (node, of) => {
    const value = of.field(node, "value");
    const alias = node.field("alias");
    const bound = placed(bindOf(alias ? of.all([alias]) : [], value, "declare"), node);
    const cases = node.namedChildren().filter((one) => /_case$/.test(String(one.kind())));
    return { is: "branch", how: "if", conditions: [value], children: [bound, ...of.all(cases)] };
  },
  type_case: (node, of) => ({
    is: "block",
    children: of.all(node.namedChildren().filter((one) => !/type/.test(String(one.kind())))),
  }),
  receive_statement: bind("left", "right", "declare"),
  keyed_element: (node, of) => {
    const [key, value] = node.namedChildren();
    const made = value && of(value);
    if (!key || !made) return null;
    return pairOf(key.text(), made, /^\w+$/.test(key.text()) ? [] : of.all([key]));
  },
  parenthesized_expression: through,
  block: parts({ is: "block" }),
  return_statement: end("return"),
  import_spec: goImport,
  interpreted_string_literal: quoted(/^"/, /"$/),
  raw_string_literal: quoted(/^`/, /`$/),
};

const blocks: Form["is"][] = ["function", "block", "branch", "class"];

export const syntaxes = {
  javascript: { kinds: javascriptKinds, scopes: new Set(blocks) },
  python: { kinds: pythonKinds, scopes: new Set<Form["is"]>(["function", "class"]) },
  go: { kinds: goKinds, scopes: new Set(blocks) },
} satisfies Record<string, Syntax>;

export function everything(code: Code): Code[] {
  const all: Code[] = [];
  const visit = (one: Code) => {
    all.push(one);
    for (const child of one.children) visit(child);
  };
  visit(code);
  return all;
}

/** What is around it, the nearest first. */
export function around(code: Code): Code[] {
  const all: Code[] = [];
  for (let at = code.parent; at; at = at.parent) all.push(at);
  return all;
}

/** The name that a chain of members and calls begins with; null if it begins with something else. */
export function rootOf(code: Code): (Code & { is: "name" }) | null {
  for (let at = code; ; ) {
    if (at.is === "name") return at;
    if (at.is === "member" || at.is === "index") at = at.object;
    else if (at.is === "call") at = at.callee;
    else if (at.is === "other" && at.children.length === 1 && at.children[0]) at = at.children[0];
    else return null;
  }
}

/** The text that an expression is, if it is written so: a text, texts joined by `+`. */
export function constantText(code: Code): string | null {
  if (code.is === "text") return code.value;
  if (code.is !== "other" || !/^binary|^binary_/.test(code.kind)) return null;
  const texts = code.children.map(constantText);
  return texts.includes(null) ? null : texts.join("");
}
