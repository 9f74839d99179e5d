type Rewrite = readonly [old: readonly string[], replacement: readonly string[]];

/** Edits over several lines as reviewers propose them, by the sample's file name. */
export const rewrites: Record<string, readonly Rewrite[]> = {
  "cart.ts": [
    [
      [
        "    for (const item of this.items.values()) {",
        "      for (const label of item.labels ?? []) {",
        "        found.push(label.trim());",
        "      }",
        "    }",
      ],
      [
        "    for (const { labels = [] } of this.items.values()) found.push(...labels.map((label) => label.trim()));",
      ],
    ],
    [
      ["    if (item.quantity <= 0) {", "      this.items.delete(sku);", "    }"],
      ["    if (item.quantity <= 0) this.items.delete(sku);"],
    ],
    [
      ["    if (present) {", "      present.quantity += item.quantity;", "      return;", "    }"],
      [
        "    if (present) {",
        "      this.items.set(item.sku, { ...present, quantity: present.quantity + item.quantity });",
        "      return;",
        "    }",
      ],
    ],
    [["    return sum > 0 ? sum : 0;"], ["    return Math.max(sum, 0);"]],
    [
      ["    const text = JSON.stringify([...this.items.values()], null, 2);"],
      [
        "    const text = JSON.stringify(",
        "      [...this.items.values()],",
        "      null,",
        "      2,",
        "    );",
      ],
    ],
    [["const separators = /[;,|]\\s*/g;"], ["const separators = /[;,|)}'\"]\\s*/g;"]],
    [["  labels(): string[] {"], ['  labels(prefix = ""): string[] {']],
  ],
  "OrderTable.tsx": [
    [["            <th>Sum</th>"], ["            <th>Sum</th>", "            <th>Date</th>"]],
    [
      ["      {open !== null && <Details id={open} />}"],
      [
        "      {open !== null && (",
        "        <aside>",
        "          <Details id={open} />",
        "        </aside>",
        "      )}",
      ],
    ],
    [
      ["            <tr key={order.id} onClick={() => onSelect(order.id)}>"],
      [
        "            <tr",
        "              key={order.id}",
        "              onClick={() => onSelect(order.id)}",
        "            >",
      ],
    ],
    [
      ["        if (active) {", "          setOrder(found);", "        }", "      });"],
      ["        if (active) setOrder(found);", "      })", "      .catch(() => setOrder(null));"],
    ],
    [
      ["      .then((answer) => answer.json())"],
      ["      .then((answer) => (answer.ok ? answer.json() : null))"],
    ],
  ],
  "report.py": [
    [
      [
        "            if entry.is_credit():",
        "                totals[entry.account] = totals.get(entry.account, 0) + entry.amount",
        "            else:",
        "                totals.setdefault(entry.account, 0)",
      ],
      [
        "            credit = entry.amount if entry.is_credit() else 0",
        "            totals[entry.account] = totals.get(entry.account, 0) + credit",
      ],
    ],
    [
      [
        "        best = default",
        "        for entry in self.entries:",
        "            if best is None or entry.amount > best.amount:",
        "                best = entry",
        "        return best",
      ],
      ["        return max(self.entries, key=lambda entry: entry.amount, default=default)"],
    ],
    [
      [
        "        except OSError as error:",
        '            log.error("cannot write %s: %s", target, error)',
        "            raise",
      ],
      [
        "        except OSError:",
        '            log.exception("cannot write %s", target)',
        "            raise",
      ],
    ],
    [
      ['                if not row or row[0].startswith("#"):'],
      [
        "                if (",
        "                    not row",
        '                    or row[0].startswith("#")',
        "                ):",
      ],
    ],
    [
      ["    def largest(self, default=None):"],
      ["    def largest(self, default: Entry | None = None) -> Entry | None:"],
    ],
    [["    Amounts are in cents:", "        12 means 0.12"], ["    Amounts are in cents (12 means 0.12)."]],
    [['    report.write(Path("report.txt"))'], ["    report.write(", '        Path("report.txt"),', "    )"]],
  ],
  "store.go": [
    [
      ["\tif time.Since(session.Created) > s.maxAge {", "\t\treturn nil, ErrExpired", "\t}"],
      [
        "\tif age := time.Since(session.Created); age > s.maxAge {",
        '\t\treturn nil, fmt.Errorf("session %q: %w", id, ErrExpired)',
        "\t}",
      ],
    ],
    [
      [
        "\t\tcase now := <-ticker.C:",
        "\t\t\tremoved := s.Sweep(now)",
        '\t\t\tfmt.Println("removed", removed)',
      ],
      [
        "\t\tcase now := <-ticker.C:",
        "\t\t\tif removed := s.Sweep(now); removed > 0 {",
        '\t\t\t\tfmt.Println("removed", removed)',
        "\t\t\t}",
      ],
    ],
    [
      ["\tsession.Created = time.Now()"],
      ["\tif session.Created.IsZero() {", "\t\tsession.Created = time.Now()", "\t}"],
    ],
    [
      ['var ErrExpired = errors.New("session expired")'],
      ["var (", '\tErrExpired = errors.New("session expired")', ")"],
    ],
    [
      ["\tmaxAge   time.Duration", "}"],
      ["\tmaxAge   time.Duration", "\tclosed   bool", "}"],
    ],
  ],
  "Ledger.java": [
    [
      [
        "        long sum = 0;",
        "        for (Booking booking : bookings.getOrDefault(account, List.of())) {",
        "            sum += booking.cents();",
        "        }",
        "        return sum;",
      ],
      [
        "        return bookings.getOrDefault(account, List.of()).stream()",
        "            .mapToLong(Booking::cents)",
        "            .sum();",
      ],
    ],
    [
      [
        "        for (int index = 0; index < list.size(); index++) {",
        "            Booking booking = list.get(index);",
        '            System.out.println(index + " " + booking.cents());',
        "        }",
      ],
      [
        "        for (Booking booking : list) {",
        "            System.out.println(booking.cents());",
        "        }",
      ],
    ],
    [
      ["        if (list == null || list.isEmpty()) {"],
      ["        if (list == null", "                || list.isEmpty()) {"],
    ],
    [["        count -= list.size();"], ["        count = Math.max(0, count - list.size());"]],
    [["    private int count;"], ["    private final AtomicInteger count = new AtomicInteger();"]],
  ],
  "settings.json": [
    [
      ['    "cors": ["https://a.example", "https://b.example"]'],
      ['    "cors": [', '      "https://a.example"', "    ]"],
    ],
    [
      ['      "min": 2,', '      "max": 10'],
      ['      "min": 2,', '      "max": 10,', '      "idle": 5'],
    ],
    [
      ["    {", '      "id": "export",', '      "enabled": true,', '      "rollout": 0.25', "    },"],
      ['    { "id": "export", "enabled": true, "rollout": 1 },'],
    ],
    [
      ['      "read": 30,', '      "write": 30,'],
      ['      "read": 10,', '      "write": 60,'],
    ],
    [['  "owner": null'], ['  "owner": "platform"']],
    [
      ["    10,", "    100,", "    1000"],
      ["    10,", "    500"],
    ],
  ],
  "deploy.yml": [
    [
      ["      - uses: actions/checkout@v4", "        with:", "          fetch-depth: 0"],
      [
        "      - uses: actions/checkout@v4",
        "        with:",
        "          fetch-depth: 1",
        "          persist-credentials: false",
      ],
    ],
    [
      ["          docker tag app:$GITHUB_SHA app:latest"],
      ['          docker tag "app:$GITHUB_SHA" app:latest', "          docker push app:latest"],
    ],
    [
      ["          - a", "          - b", "          - c"],
      ["          - a", "          - b"],
    ],
    [["    branches: [main]"], ["    branches:", "      - main", "      - release"]],
    [
      ['          if [ "$REGION" = "" ]; then', "            exit 1", "          fi"],
      ['          test -n "$REGION"'],
    ],
    [["        run: npm test"], ["        run: npm test", "        timeout-minutes: 3"]],
    [["    needs: build"], ["    needs: [build]"]],
  ],
  "queue.rb": [
    [
      ["    @jobs.map do |job|", "      job[:name].to_s.downcase", "    end"],
      ["    @jobs.map { |job| job[:name].to_s.downcase }"],
    ],
    [
      ["    if job[:attempts] >= MAX_ATTEMPTS", "      @store.bury(job)", "      return false", "    end"],
      ["    if job[:attempts] > MAX_ATTEMPTS", "      @store.bury(job)", "      return false", "    end"],
    ],
    [
      ['    raise ArgumentError, "a job has no name" if name.nil?'],
      ["    if name.nil?", '      raise ArgumentError, "a job has no name"', "    end"],
    ],
    [["      rescue StandardError => error"], ["      rescue JSON::ParserError, IOError => error"]],
    [["    when 1..10"], ["    when 1..MAX_ATTEMPTS"]],
  ],
  "ring.c": [
    [
      ["    ring = malloc(sizeof(*ring));", "    if (ring == NULL)", "        return NULL;"],
      ["    ring = calloc(1, sizeof(*ring));", "    if (ring == NULL)", "        return NULL;"],
    ],
    [
      ["    if (size < RING_MIN)", "        size = RING_MIN;"],
      ["    if (size < RING_MIN) {", "        size = RING_MIN;", "    }"],
    ],
    [
      ["#ifdef RING_DEBUG", '    fprintf(stderr, "wrote %zu bytes\\n", written);', "#endif"],
      ["#ifdef RING_DEBUG", '    fprintf(stderr, "wrote %zu of %zu bytes\\n", written, length);', "#endif"],
    ],
    [
      ["    return ring->data[at] == '\\n' ? '\\0' : ring->data[at];"],
      [
        "    if (ring->data[at] == '\\'' || ring->data[at] == '\\n')",
        "        return 0;",
        "    return ring->data[at];",
      ],
    ],
    [
      ["    if (ring) {", "        free(ring->data);", "        free(ring);", "    }"],
      ["    if (ring == NULL)", "        return;", "    free(ring->data);", "    free(ring);"],
    ],
  ],
  "lines.rs": [
    [
      [
        "    for line in text.lines() {",
        "        if line.trim_start().starts_with('#') {",
        "            count += 1;",
        "        }",
        "    }",
      ],
      ["    count += text.lines().filter(|line| line.trim_start().starts_with('#')).count();"],
    ],
    [
      ["        return Ok(Entry::Comment(&text[1..]));"],
      ["        return Ok(Entry::Comment(text[1..].trim()));"],
    ],
    [
      [
        "        None => Err(ParseError {",
        "            line,",
        '            reason: String::from("no equals sign"),',
        "        }),",
      ],
      ['        None => Err(ParseError { line, reason: "no equals sign".to_string() }),'],
    ],
    [["            if previous.is_some() {"], ["            if let Some(old) = previous {"]],
    [
      ["pub fn parse_line(text: &str, line: usize) -> Result<Entry<'_>, ParseError> {"],
      ["pub fn parse_line<'a>(text: &'a str, line: usize) -> Result<Entry<'a>, ParseError> {"],
    ],
  ],
  "backup.sh": [
    [['  if [ -f "$archive" ]; then', '    rm -f "$archive"', "  fi"], ['  rm -f "$archive"']],
    [["stamp=$(date +%Y%m%d-%H%M%S)"], ["stamp=$(date -u +%Y%m%d-%H%M%S)"]],
    [["for attempt in 1 2 3; do"], ['for attempt in $(seq 1 "$keep"); do']],
    [
      ["  *)", '    log "the folder must be absolute"', "    exit 1", "    ;;"],
      ["  *)", '    log "the folder must be absolute: $source_dir"', "    exit 2", "    ;;"],
    ],
    [['  if [ "$count" -gt "$keep" ]; then'], ['  if [ "$count" -gt "$keep" ] && [ -n "$name" ]; then']],
    [
      ['tar -czf "$archive" -C "$source_dir" .'],
      ['if ! tar -czf "$archive" -C "$source_dir" .; then', '  log "no archive"', "  exit 1", "fi"],
    ],
  ],
  "service.toml": [
    [
      ["origins = [", '  "https://a.example",', '  "https://b.example",', "]"],
      ['origins = ["https://a.example"]'],
    ],
    [["pool = { min = 2, max = 10 }"], ["pool = { min = 2, max = 20, idle = 5 }"]],
    [
      ['host = "0.0.0.0"', "port = 8080"],
      ['host = "127.0.0.1"', "port = 8081"],
    ],
    [["retries = 0"], ["retries = 1"]],
    [['level = "info"'], ["level = 'debug'"]],
  ],
};
