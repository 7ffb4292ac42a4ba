// llama-logits MODEL LAYERS: prints the logits after a prompt of 16 tokens, and those after one token more. LAYERS of the model are the GPU's.
// `scripts/llama --logits` builds it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "llama.h"

int main(int count, char ** words) {
    if (count != 3) return 2;
    llama_backend_init();
    llama_model_params model_params = llama_model_default_params();
    model_params.n_gpu_layers = std::atoi(words[2]);
    llama_model * model = llama_model_load_from_file(words[1], model_params);
    llama_context_params context_params = llama_context_default_params();
    context_params.n_ctx = 64;
    llama_context * context = model ? llama_init_from_model(model, context_params) : nullptr;
    if (!context) return 2;
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    std::vector<llama_token> tokens;
    for (int i = 0; i < 16; i++) tokens.push_back((37 * i + 11) % vocabulary);
    for (int step = 0; step < 2; step++) {
        if (llama_decode(context, llama_batch_get_one(tokens.data(), int(tokens.size()))) != 0) return 1;
        const float * logits = llama_get_logits_ith(context, -1);
        for (int i = 0; i < vocabulary; i++) std::printf("%.9g\n", logits[i]);
        tokens.assign(1, 5);
    }
    llama_free(context);
    llama_model_free(model);
}
