// Debian's libfmt is compiled by GCC, which gives this function another name than Clang does.
#include <fmt/format-inl.h>

template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                            fmt::basic_format_args<FMT_BUFFER_CONTEXT(fmt::type_identity_t<char>)>,
                                            fmt::detail::locale_ref);
