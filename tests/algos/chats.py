"""Tokenizers with chat templates in the forms that widespread models have."""

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

SPECIAL = ("<|im_start|>", "<|im_end|>", "<eos>", "<bos>", "<turn>", "<end_of_turn>", "[INST]", "[/INST]")
EACH = "{% for m in messages %}"
END = "{% endfor %}"
CHATML = (
    f"{EACH}{{{{'<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n'}}}}{END}"
    "{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}{% endif %}"
)
THINKING = (
    f"{EACH}{{% set c = m['content'] %}}"
    "{% if m['role'] == 'assistant' and '</think>' in c %}{% set c = c.split('</think>')[-1] %}{% endif %}"
    f"{{{{'<|im_start|>' + m['role'] + '\\n' + c + '<|im_end|>\\n'}}}}{END}"
    "{% if add_generation_prompt %}{{'<|im_start|>assistant\\n'}}"
    "{% if enable_thinking is defined and not enable_thinking %}{{'<think>\\n\\n</think>\\n\\n'}}{% endif %}{% endif %}"
)
INST = (
    f"{{{{bos_token}}}}{EACH}{{% if m['role'] == 'user' %}}{{{{'[INST] ' + m['content'] + ' [/INST]'}}}}"
    f"{{% else %}}{{{{' ' + m['content'] + eos_token}}}}{{% endif %}}{END}"
)
TURNS = (
    f"{{{{bos_token}}}}{EACH}{{{{'<turn>' + {{'user': 'user', 'assistant': 'model'}}[m['role']] + '\\n' }}}}"
    f"{{{{m['content'] | trim + '<end_of_turn>\\n'}}}}{END}"
    "{% if add_generation_prompt %}{{'<turn>model\\n'}}{% endif %}"
)
UNENDED = f"{EACH}{{{{'\\n' + m['role'] + ': ' + m['content']}}}}{END}{{{{'\\nassistant: '}}}}"
FORGETFUL = (  # earlier observations are left out
    f"{EACH}{{{{'<|im_start|>' + m['role'] + '\\n'}}}}"
    "{% if m['role'] == 'assistant' or loop.last %}{{m['content']}}{% else %}{{'...'}}{% endif %}"
    f"{{{{'<|im_end|>\\n'}}}}{END}{{{{'<|im_start|>assistant\\n'}}}}"
)
UNPROMPTED = f"{EACH}{{{{'<turn>' + m['role'] + '\\n' + m['content'] + '<end_of_turn>\\n'}}}}{END}"
LAST_ONLY = "{{'<|im_start|>user\\n' + messages[-1]['content'] + '<|im_end|>\\n<|im_start|>assistant\\n'}}"
SHOUTING = f"{EACH}{{{{m['content'] | upper + '<eos>'}}}}{END}"
REFUSING = "{{ raise_exception('no assistants here') if messages | length > 1 else messages[0]['content'] }}"
WORDS = ["search[red lamp]\nclick[blue] user assistant observation You are in a shop.\n"] * 20


def chat_tokenizer(template: str | None) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer, as those of larger models are."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(WORDS, trainer)
    chat = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<eos>", bos_token="<bos>", pad_token="<eos>")
    chat.chat_template = template
    return chat
