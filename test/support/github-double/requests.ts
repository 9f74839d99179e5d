import type { AskedLine } from "./anchor.ts";

/** Request bodies in GitHub's description; they are checked against it before an endpoint sees them. */

export interface NewReview {
  commit_id?: string;
  body?: string;
  event?: "APPROVE" | "REQUEST_CHANGES" | "COMMENT";
  comments?: (AskedLine & { body: string; position?: number })[];
}

export interface NewReviewComment extends AskedLine {
  body: string;
  commit_id: string;
  position?: number;
  in_reply_to?: number;
  subject_type?: "line" | "file";
}

export interface NewAnnotation {
  path: string;
  start_line: number;
  end_line: number;
  start_column?: number;
  end_column?: number;
  annotation_level: string;
  title?: string;
  message: string;
  raw_details?: string;
}

export interface CheckRunUpdate {
  name?: string;
  external_id?: string;
  details_url?: string;
  started_at?: string;
  completed_at?: string;
  status?: "queued" | "in_progress" | "completed";
  conclusion?: string;
  output?: {
    title?: string;
    summary: string;
    text?: string;
    annotations?: NewAnnotation[];
  };
}

export type NewCheckRun = CheckRunUpdate & { name: string; head_sha: string };
