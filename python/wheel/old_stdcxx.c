// Functions of newer versions of libstdc++, for MuJoCo's library where libstdc++ is that of gcc 8.
// They are written in C, by their names in object files: the build has no other C++.
enum { IN_AND_OUT = 8 | 16 }; // std::ios_base::in | std::ios_base::out

void _ZSt17__throw_bad_allocv(void);
void _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode(void *self,
                                                                                     int mode);
void _ZSt28__throw_bad_array_new_lengthv(void);
void _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1Ev(void *self);

// std::__throw_bad_array_new_length(): std::bad_alloc is the base class of what it throws in newer
// versions.
void
_ZSt28__throw_bad_array_new_lengthv(void)
{
    _ZSt17__throw_bad_allocv();
}

// std::stringstream::stringstream()
void
_ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1Ev(void *self)
{
    _ZNSt7__cxx1118basic_stringstreamIcSt11char_traitsIcESaIcEEC1ESt13_Ios_Openmode(self,
                                                                                    IN_AND_OUT);
}
