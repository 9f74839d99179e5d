import { AppError } from "../errors.ts";

/** The endpoint takes no tools; the same conversation as text may work. */
export class ToolsRefused extends AppError {}
